#include "operator/kube/cache/reflector.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/cache/cache.h"
#include "operator/kube/cache/reflector_fixture.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::kube {
namespace {

using Strings = std::vector<std::string>;

TEST_F(ReflectorTest, ListsThenFollows) {
  for (const char* name : {"a", "b", "c"}) Create(name, "1");
  EXPECT_FALSE(cache_.HasSynced());
  Run();
  EXPECT_TRUE(cache_.HasSynced());
  EXPECT_EQ(cache_.size(), 3u);
  Set("a", "2");
  Create("d", "1");
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "b"}).ok());
  changes_.clear();
  EXPECT_EQ(Run(), 3);
  EXPECT_EQ(changes_, (Strings{"1>a>2", "->d>1", "1>b>-"}));
  EXPECT_EQ(Data("a"), "2");
  EXPECT_EQ(cache_.Get({"ns", "b"}), nullptr);
  EXPECT_EQ(reflector_.lists(), 1);
}

TEST_F(ReflectorTest, WhatWasHandedOutStaysAsItWas) {
  Create("a", "1");
  Run();
  const auto before = cache_.Get({"ns", "a"});
  Set("a", "2");
  Run();
  EXPECT_EQ(before->data, "1");
  EXPECT_EQ(Data("a"), "2");
}

TEST_F(ReflectorTest, ExpiredMeansListAgainAndDropsWhatVanished) {
  Create("a", "1");
  Create("b", "1");
  Run();
  changes_.clear();
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "a"}).ok());
  api_->CompactHistory();
  Run();
  clock_.Advance(absl::Milliseconds(100));
  Run();
  EXPECT_EQ(reflector_.lists(), 2);
  EXPECT_EQ(cache_.Get({"ns", "a"}), nullptr);
  EXPECT_EQ(changes_[0], "1>a>-");
}

// If versions expire between a list and its watch, lists must back off.
TEST_F(ReflectorTest, ExpiredAgainAndAgainBacksOff) {
  Create("a", "1");
  Run();
  for (int i = 0; i < 5; ++i) {
    faulty_.FailNext(Verb::kWatchNext, ApiError(Reason::kExpired, "too old"));
    Run();
    EXPECT_EQ(reflector_.RetryAt(), clock_.Monotonic() + absl::Milliseconds(100) * (1 << i));
    Run();
    EXPECT_EQ(reflector_.lists(), 1 + i);
    clock_.Advance(reflector_.RetryAt() - clock_.Monotonic());
  }
}

TEST_F(ReflectorTest, AClosedWatchGoesOnFromTheLastVersion) {
  Create("a", "1");
  Run();
  faulty_.FailNext(Verb::kWatchNext, ApiError(Reason::kWatchClosed, "closed"));
  Run();
  Create("b", "1");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(reflector_.lists(), 1);
  EXPECT_EQ(reflector_.failures(), 0);
}

TEST_F(ReflectorTest, AQuietWatchThatTheServerEndsAgainAndAgainIsNoFailure) {
  Create("a", "1");
  Run();
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(absl::Seconds(45));
    faulty_.FailNext(Verb::kWatchNext, ApiError(Reason::kWatchClosed, "closed"));
    Run();
    EXPECT_EQ(reflector_.RetryAt(), absl::InfinitePast());
    Run();  // watches again
  }
  EXPECT_EQ(reflector_.failures(), 0);
  EXPECT_EQ(reflector_.lists(), 1);
}

TEST_F(ReflectorTest, FailuresBackOffAndDouble) {
  Create("a", "1");
  for (int i = 0; i < 3; ++i) faulty_.FailNext(Verb::kList, ApiError(Reason::kInternalError, "x"));
  Run();
  EXPECT_EQ(reflector_.RetryAt(), clock_.Monotonic() + absl::Milliseconds(100));
  Run();
  EXPECT_EQ(faulty_.calls(Verb::kList), 1);
  clock_.Advance(absl::Milliseconds(100));
  Run();
  EXPECT_EQ(reflector_.RetryAt(), clock_.Monotonic() + absl::Milliseconds(200));
  clock_.Advance(absl::Milliseconds(200));
  Run();
  EXPECT_EQ(reflector_.failures(), 3);
  EXPECT_FALSE(cache_.HasSynced());
  clock_.Advance(absl::Seconds(1));
  Run();
  EXPECT_TRUE(cache_.HasSynced());
}

TEST_F(ReflectorTest, RetriesAreSpread) {
  double drawn = 0;
  Reflector spread(faulty_, kConfigMaps, {.jitter = [&] { return drawn; }}, cache_, clock_);
  for (const double share : {0.0, 0.5, 0.99}) {
    drawn = share;
    faulty_.FailNext(Verb::kList, ApiError(Reason::kInternalError, "x"));
    clock_.Advance(absl::Seconds(2));
    spread.RunOnce(absl::ZeroDuration());
    const absl::Duration plain = absl::Milliseconds(100) * (1 << (spread.failures() - 1));
    EXPECT_EQ(spread.RetryAt(), clock_.Monotonic() + plain * (1 + share));
  }
}

TEST_F(ReflectorTest, AServerThatAsksForTimeGetsIt) {
  faulty_.FailNext(Verb::kList, TooManyRequests("busy", absl::Seconds(7)));
  Run();
  EXPECT_EQ(reflector_.RetryAt(), clock_.Monotonic() + absl::Seconds(7));
}

// A new leader must not wait out the back-off of a long outage before its caches are filled.
TEST_F(ReflectorTest, AListRequestCutsABackOffShortOnce) {
  const auto fail = [this] {
    faulty_.FailNext(Verb::kList, ApiError(Reason::kServiceUnavailable, "down"));
    Run();
  };
  for (int i = 0; i < 12; ++i) {
    fail();
    clock_.Advance(reflector_.RetryAt() - clock_.Monotonic());
  }
  fail();
  ASSERT_EQ(reflector_.RetryAt() - clock_.Monotonic(), absl::Seconds(30));
  const absl::Time wish = clock_.Monotonic();
  reflector_.ListAfter(wish);
  fail();
  EXPECT_EQ(reflector_.RetryAt() - clock_.Monotonic(), absl::Milliseconds(100)) << "anew";
  reflector_.ListAfter(wish);
  Run();
  EXPECT_FALSE(reflector_.HasListedAfter(wish)) << "the same wish hurries nobody twice";
  clock_.Advance(absl::Milliseconds(100));
  Run();
  EXPECT_TRUE(reflector_.HasListedAfter(wish));
}

TEST_F(ReflectorTest, AListRequestDoesNotCutTheServersRetryAfterShort) {
  faulty_.FailNext(Verb::kList, TooManyRequests("busy", absl::Seconds(7)));
  Run();
  reflector_.ListAfter(clock_.Monotonic());
  Run();
  EXPECT_FALSE(cache_.HasSynced());
  // After a longer back-off of the client, only the delay that the server asked for remains.
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(absl::Minutes(1));
    faulty_.FailNext(Verb::kList, TooManyRequests("busy", absl::Seconds(7)));
    Run();
  }
  reflector_.ListAfter(clock_.Monotonic());
  clock_.Advance(absl::Seconds(8));
  Run();
  EXPECT_TRUE(cache_.HasSynced());
}

TEST_F(ReflectorTest, APageThatFailsShowsNoHalfList) {
  for (const char* name : {"a", "b", "c"}) Create(name, "1");
  faulty_.FailNext(Verb::kList, absl::OkStatus());
  faulty_.FailNext(Verb::kList, ApiError(Reason::kExpired, "page too old"));
  Run();
  EXPECT_FALSE(cache_.HasSynced());
  EXPECT_EQ(cache_.size(), 0u);
  clock_.Advance(absl::Milliseconds(100));
  Run();
  EXPECT_EQ(cache_.size(), 3u);
}

TEST_F(ReflectorTest, BookmarksAdvanceTheVersion) {
  Run();
  const uint64_t before = cache_.LatestVersion();
  ASSERT_TRUE(api_->Create(kNodes, NewObject(kNodes, {"", "n"})).ok());
  clock_.Advance(absl::Minutes(2));
  Run();
  EXPECT_GT(cache_.LatestVersion(), before);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(ReflectorTest, WaitForVersionIsReadYourWrites) {
  Run();
  const Json a = Create("a", "1");
  const uint64_t version = *ParseResourceVersion(ResourceVersionOf(a));
  EXPECT_FALSE(cache_.WaitForVersion(version, absl::ZeroDuration()));
  Run();
  EXPECT_TRUE(cache_.WaitForVersion(version, absl::ZeroDuration()));
  EXPECT_EQ(Data("a"), "1");
}

TEST_F(ReflectorTest, AnUnparsableObjectIsAbsentAndCounted) {
  Create("a", "1");
  Run();
  changes_.clear();
  Set("a", "bad");
  Run();
  EXPECT_EQ(cache_.parse_errors(), 1);
  EXPECT_EQ(cache_.Get({"ns", "a"}), nullptr);
  EXPECT_EQ(changes_, (Strings{"1>a>-"}));
  Set("a", "3");
  Run();
  EXPECT_EQ(Data("a"), "3");
}

// The mirror always ends equal to the server, with faults of every kind and many seeds.
TEST_F(ReflectorTest, ConvergesUnderFaults) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    FaultyApi faulty(*api_, {.seed = seed,
                             .unavailable = 0.2,
                             .timeout_before = 0.1,
                             .too_many_requests = 0.05,
                             .watch_closed = 0.2,
                             .watch_expired = 0.1});
    Cache<Value> cache(ParseValue);
    Reflector reflector(faulty, kConfigMaps, {.page_size = 3}, cache, clock_);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 60; ++i) {
      const std::string name = absl::StrCat("x", random() % 8);
      if (api_->Get(kConfigMaps, {"ns", name}).ok()) {
        if (random() % 3 == 0) {
          ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", name}).ok());
        } else {
          Set(name, absl::StrCat(i));
        }
      } else {
        Create(name, absl::StrCat(i));
      }
      if (random() % 15 == 0) api_->CompactHistory();
      clock_.Advance(absl::Seconds(random() % 3));
      reflector.RunOnce(absl::ZeroDuration());
    }
    faulty.SetPolicy({});
    for (int i = 0; i < 4; ++i) {
      clock_.Advance(absl::Minutes(1));
      reflector.RunOnce(absl::ZeroDuration());
    }
    std::set<std::string> want;
    std::set<std::string> got;
    const ObjectList list = *api_->List(kConfigMaps, {});
    for (const Json& item : list.items) {
      want.insert(NameOf(item) + "=" + StringAt(item, {"data", "key"}));
    }
    for (const auto& value : cache.List()) got.insert(value->name + "=" + value->data);
    EXPECT_EQ(got, want) << seed;
  }
}

}  // namespace
}  // namespace muster::kube
