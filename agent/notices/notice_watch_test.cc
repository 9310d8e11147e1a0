#include "agent/notices/notice_watch.h"

#include <poll.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

const Notice kPreempted{kReclaim, "Google", absl::FromUnixSeconds(1'764'058'800), "preempted"};

// The answer of a source now, and how often it was asked. Thread-safe.
class Script {
 public:
  void Answer(absl::StatusOr<std::optional<Notice>> answer) {
    MutexLock lock(mu_);
    answer_ = std::move(answer);
  }
  absl::StatusOr<std::optional<Notice>> Polled() {
    MutexLock lock(mu_);
    ++polls_;
    polled_.NotifyAll();
    return answer_;
  }
  void AwaitPolls(int more) {
    MutexLock lock(mu_);
    const int until = polls_ + more;
    while (polls_ < until) polled_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar polled_;
  absl::StatusOr<std::optional<Notice>> answer_ MUSTER_GUARDED_BY(mu_) = std::optional<Notice>();
  int polls_ MUSTER_GUARDED_BY(mu_) = 0;
};

class ScriptedSource : public NoticeSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}
  const char* cloud() const override { return "Google"; }
  absl::Status Probe() override { return absl::OkStatus(); }
  absl::StatusOr<std::optional<Notice>> Poll(absl::Time) override { return script_.Polled(); }

 private:
  Script& script_;
};

NoticeNews Next(NoticeWatch& watch) {
  pollfd fd{watch.fd(), POLLIN, 0};
  while (::poll(&fd, 1, -1) != 1) {
  }
  return watch.Take();
}

class NoticeWatchTest : public testing::Test {
 protected:
  Script script_;
  NoticeWatch watch_{[this]() -> absl::StatusOr<std::unique_ptr<NoticeSource>> {
                       return std::make_unique<ScriptedSource>(script_);
                     },
                     absl::Milliseconds(1), Clock::Real()};
};

TEST_F(NoticeWatchTest, EveryChangeIsToldOnce) {
  EXPECT_EQ(Next(watch_), (NoticeNews{"Google", std::nullopt, ""}));
  script_.Answer(kPreempted);
  EXPECT_EQ(Next(watch_).notice, kPreempted);
  script_.AwaitPolls(3);
  pollfd fd{watch_.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 0), 0) << "the same notice is nothing new";
  script_.Answer(std::nullopt);
  EXPECT_EQ(Next(watch_).notice, std::nullopt);
}

TEST_F(NoticeWatchTest, APollThatFailsTakesNoNoticeBack) {
  Next(watch_);
  script_.Answer(kPreempted);
  Next(watch_);
  script_.Answer(absl::UnavailableError("status 503"));
  EXPECT_EQ(Next(watch_), (NoticeNews{"Google", kPreempted, "status 503"}));
  script_.Answer(kPreempted);
  EXPECT_EQ(Next(watch_), (NoticeNews{"Google", kPreempted, ""}));
}

TEST(NoticeWatchWithoutSourceTest, ItSaysWhyAndEndsWhenAsked) {
  NoticeWatch watch([] { return absl::UnavailableError("nobody answers"); }, absl::Milliseconds(1),
                    Clock::Real());
  EXPECT_EQ(Next(watch), (NoticeNews{"", std::nullopt, "nobody answers"}));
}

}  // namespace
}  // namespace muster::agent
