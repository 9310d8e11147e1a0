#include "agent/notices/notice_watch.h"

#include <poll.h>

#include <memory>
#include <string>
#include <utility>

#include "agent/notices/fake_metadata.h"
#include "agent/notices/find_source.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

NoticeNews Next(NoticeWatch& watch) {
  pollfd fd{watch.fd(), POLLIN, 0};
  while (::poll(&fd, 1, -1) != 1) {
  }
  return watch.Take();
}

NoticeWatch::Find Finding(const std::string& cloud, const std::string& base) {
  return [=] { return FindNoticeSource(cloud, base); };
}

TEST(NoticeWatchTest, EveryChangeIsToldOnce) {
  FakeGoogle google;
  NoticeWatch watch(Finding("auto", google.base()), absl::Milliseconds(5), Clock::Real());
  EXPECT_EQ(Next(watch), (NoticeNews{"Google", std::nullopt, ""}));
  google.Set("preempted", "TRUE");
  const NoticeNews told = Next(watch);
  ASSERT_TRUE(told.notice.has_value());
  EXPECT_EQ(told.notice->kind, kReclaim);
  const int before = google.requests();
  while (google.requests() < before + 10) std::this_thread::yield();
  pollfd fd{watch.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 0), 0) << "the same notice is nothing new";
  google.Set("preempted", "FALSE");
  EXPECT_EQ(Next(watch).notice, std::nullopt);
}

TEST(NoticeWatchTest, APollThatFailsTakesNoNoticeBack) {
  FakeGoogle google;
  google.Set("preempted", "TRUE");
  NoticeWatch watch(Finding("google", google.base()), absl::Milliseconds(5), Clock::Real());
  EXPECT_TRUE(Next(watch).notice.has_value());
  google.Break(500, "");
  NoticeNews news = Next(watch);
  EXPECT_TRUE(news.notice.has_value());
  EXPECT_NE(news.absence, "");
  google.Mend();
  news = Next(watch);
  EXPECT_TRUE(news.notice.has_value());
  EXPECT_EQ(news.absence, "");
}

TEST(NoticeWatchTest, WhereNobodyAnswersItSaysSoAndEndsWhenAsked) {
  NoticeWatch watch(Finding("auto", "http://127.0.0.1:1"), absl::Milliseconds(5), Clock::Real());
  const NoticeNews news = Next(watch);
  EXPECT_EQ(news.cloud, "");
  EXPECT_NE(news.absence, "");
}

}  // namespace
}  // namespace muster::agent
