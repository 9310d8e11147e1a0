#include "operator/core/leave/link_verdict.h"

#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

// Workers on nodes of their own; in racks of `rack` workers each, if it is not 0.
std::vector<TestedWorker> Workers(int count, int rack = 0) {
  std::vector<TestedWorker> workers;
  for (int i = 0; i < count; ++i) {
    workers.push_back({i, absl::StrCat("n", i), {}});
    if (rack > 0) workers.back().domains = {"zone", absl::StrCat("rack", i / rack)};
  }
  return workers;
}

// All pairs, of 10 GB/s in a rack and 4 GB/s between racks. Links of a `bad` worker have a tenth.
std::vector<TestedLink> Links(const std::vector<TestedWorker>& workers, const std::set<int>& bad) {
  std::vector<TestedLink> links;
  for (size_t a = 0; a < workers.size(); ++a) {
    for (size_t b = a + 1; b < workers.size(); ++b) {
      const bool near = workers[a].domains == workers[b].domains;
      const bool slow = bad.count(static_cast<int>(a)) + bad.count(static_cast<int>(b)) > 0;
      links.push_back({a, b, (near ? 10e9 : 4e9) / (slow ? 10 : 1)});
    }
  }
  return links;
}

std::vector<size_t> Places(const LinkVerdict& verdict) {
  std::vector<size_t> places;
  for (const SlowWorker& worker : verdict.workers) places.push_back(worker.place);
  return places;
}

TEST(LinkVerdictTest, TheWorkerWithSlowLinksIsNamedAndNoOther) {
  for (const int count : {3, 4, 5, 8, 16}) {
    for (const int rack : {0, 2, 4}) {
      if (rack > 0 && count < 2 * rack) continue;
      for (int bad = 0; bad < count; ++bad) {
        const auto workers = Workers(count, rack);
        const LinkVerdict verdict = JudgeLinks(workers, Links(workers, {bad}));
        SCOPED_TRACE(absl::StrCat(bad, " of ", count, " in racks of ", rack));
        ASSERT_EQ(Places(verdict), std::vector<size_t>{static_cast<size_t>(bad)});
        EXPECT_DOUBLE_EQ(verdict.workers[0].measured, verdict.workers[0].expected / 10);
        EXPECT_THAT(verdict.links, IsEmpty()) << "its slow links are explained";
      }
    }
  }
}

TEST(LinkVerdictTest, FarLinksThatAreSlowerThanNearOnesAreNotSlow) {
  const auto workers = Workers(8, 4);
  std::vector<TestedLink> links = Links(workers, {});
  for (TestedLink& link : links) {
    if (workers[link.from].domains != workers[link.to].domains) link.bytes_per_second = 1e9;
  }
  const LinkVerdict verdict = JudgeLinks(workers, links);
  EXPECT_THAT(verdict.workers, IsEmpty());
  EXPECT_THAT(verdict.links, IsEmpty());
}

TEST(LinkVerdictTest, ASingleSlowPairIsNamedAsALinkAndAccusesNobody) {
  for (const int count : {3, 4, 9}) {
    const auto workers = Workers(count);
    std::vector<TestedLink> links = Links(workers, {});
    links[0].bytes_per_second = 1e9;
    const LinkVerdict verdict = JudgeLinks(workers, links);
    EXPECT_THAT(verdict.workers, IsEmpty()) << count;
    ASSERT_EQ(verdict.links.size(), 1u) << count;
    EXPECT_EQ(verdict.links[0].from, 0u);
    EXPECT_EQ(verdict.links[0].to, 1u);
    EXPECT_EQ(verdict.links[0].measured, 1e9);
    EXPECT_EQ(verdict.links[0].expected, 10e9);
  }
}

TEST(LinkVerdictTest, OfTwoSlowWorkersTheSlowerIsFirst) {
  const auto workers = Workers(8);
  std::vector<TestedLink> links = Links(workers, {2, 5});
  for (TestedLink& link : links) {
    if (link.from == 5 || link.to == 5) link.bytes_per_second = 1e8;
  }
  EXPECT_EQ(Places(JudgeLinks(workers, links)), (std::vector<size_t>{5, 2}));
}

TEST(LinkVerdictTest, ALinkWithAThirdOfTheSpeedIsNotSlow) {
  const auto workers = Workers(4);
  const auto slow_links = [&](double factor) {
    std::vector<TestedLink> links = Links(workers, {});
    links[0].bytes_per_second *= factor;
    return JudgeLinks(workers, links).links.size();
  };
  EXPECT_EQ(slow_links(0.34), 0u);
  EXPECT_EQ(slow_links(0.33), 1u);
}

TEST(LinkVerdictTest, TwoWorkersHaveNothingToCompareWith) {
  const auto workers = Workers(2);
  EXPECT_THAT(JudgeLinks(workers, {{0, 1, 1}}).workers, IsEmpty());
  EXPECT_THAT(JudgeLinks(workers, {{0, 1, 1}}).links, IsEmpty());
  EXPECT_THAT(JudgeLinks({}, {}).workers, IsEmpty());
}

TEST(LinkVerdictTest, ASpeedThatIsNoNumberIsSlow) {
  const auto workers = Workers(4);
  std::vector<TestedLink> links = Links(workers, {});
  links[0].bytes_per_second = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(JudgeLinks(workers, links).links.size(), 1u);
}

TEST(LinkVerdictTest, LinksOfWorkersThatAreNotThereAreIgnored) {
  const auto workers = Workers(3);
  std::vector<TestedLink> links = Links(workers, {});
  links.push_back({1, 7, 1});
  links.push_back({2, 2, 1});
  EXPECT_THAT(JudgeLinks(workers, links).links, IsEmpty());
}

}  // namespace
}  // namespace muster::control
