#include "operator/kube/cache/reflector.h"

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/cache/cache.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::kube {
namespace {

struct Value {
  std::string name;
  std::string data;
};

absl::StatusOr<Value> ParseValue(const Json& object) {
  const std::string data = StringAt(object, {"data", "key"});
  if (data == "bad") return absl::InvalidArgumentError("bad data");
  return Value{NameOf(object), data};
}

class ReflectorTest : public testing::Test {
 protected:
  ReflectorTest() {
    cache_.OnChange([this](const ObjectKey& key, const auto& before, const auto& after) {
      changes_.push_back(
          absl::StrCat(before ? before->data : "-", ">", key.name, ">", after ? after->data : "-"));
    });
  }

  Json Create(const std::string& name, const std::string& data, const Labels& labels = {}) {
    Json object = NewObject(kConfigMaps, {"ns", name});
    object["data"] = {{"key", data}};
    for (const auto& [key, value] : labels) SetLabel(object, key, value);
    return *api_->Create(kConfigMaps, object);
  }
  void Set(const std::string& name, const std::string& data) {
    Json object = *api_->Get(kConfigMaps, {"ns", name});
    object["data"]["key"] = data;
    ASSERT_TRUE(api_->Update(kConfigMaps, object).ok());
  }
  int Run() { return reflector_.RunOnce(absl::ZeroDuration()); }
  std::string Data(const std::string& name) {
    const auto value = cache_.Get({"ns", name});
    return value == nullptr ? "" : value->data;
  }

  ManualClock clock_;
  std::mt19937_64 random_{5};
  MemoryApiOptions options_{.random = [this] { return random_(); }};
  std::unique_ptr<MemoryApi> api_ = *MemoryApi::Open(clock_, options_);
  FaultyApi faulty_{*api_, {}};
  Cache<Value> cache_{ParseValue, {.indexed_labels = {"job"}}};
  Reflector reflector_{faulty_, kConfigMaps, {.page_size = 2}, cache_, clock_};
  std::vector<std::string> changes_;
};

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
TEST_F(ReflectorTest, AWishForAListCutsABackOffShortOnce) {
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

TEST_F(ReflectorTest, AWishForAListDoesNotCutTheTimeShortThatTheServerAskedFor) {
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

TEST_F(ReflectorTest, Indexes) {
  const Json owner = Create("owner", "1");
  Json owned = NewObject(kConfigMaps, {"ns", "owned"});
  SetOwners(owned, {ControllerReferenceTo(kConfigMaps, owner)});
  SetLabel(owned, "job", "x");
  ASSERT_TRUE(api_->Create(kConfigMaps, owned).ok());
  Create("other", "1", {{"job", "y"}});
  Run();
  ASSERT_EQ(cache_.ListByOwner(UidOf(owner)).size(), 1u);
  EXPECT_EQ(cache_.ListByOwner(UidOf(owner))[0]->name, "owned");
  EXPECT_EQ(cache_.ListByLabel("job", "y").size(), 1u);
  EXPECT_EQ(cache_.ListNamespace("ns").size(), 3u);
  EXPECT_TRUE(cache_.ListNamespace("n").empty());
  ASSERT_TRUE(api_->PatchMetadata(kConfigMaps, {"ns", "other"}, {{"labels", {{"job", "x"}}}}).ok());
  Run();
  EXPECT_TRUE(cache_.ListByLabel("job", "y").empty());
  EXPECT_EQ(cache_.ListByLabel("job", "x").size(), 2u);
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "owner"}).ok());
  Run();
  EXPECT_TRUE(cache_.ListByOwner(UidOf(owner)).empty());
}

TEST(CacheIndexTest, OwnersOfAnotherKindAreNotIndexed) {
  Json object = NewObject(kPods, {"ns", "a"});
  SetOwners(object, {{"apps/v1", "ReplicaSet", "r", "u-1", true},
                     {"muster.dev/v1alpha1", "TrainingJob", "j", "u-2"}});
  SetLabel(object, "job", "x");
  EXPECT_EQ(IndexTerms(object, {"job"}, "TrainingJob"),
            (std::vector<IndexTerm>{{"", "u-2"}, {"job", "x"}}));
  EXPECT_EQ(IndexTerms(object, {}, ""), (std::vector<IndexTerm>{{"", "u-1"}, {"", "u-2"}}));
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

class StreamListTest : public ReflectorTest {
 protected:
  int RunStream() { return stream_.RunOnce(absl::ZeroDuration()); }
  Reflector stream_{faulty_, kConfigMaps, {.stream_list = true}, cache_, clock_};
};

TEST_F(StreamListTest, OneWatchIsTheListAndWhatFollows) {
  for (const char* name : {"a", "b", "c"}) Create(name, "1");
  RunStream();
  EXPECT_TRUE(cache_.HasSynced());
  EXPECT_EQ(cache_.size(), 3u);
  Create("d", "1");
  EXPECT_EQ(RunStream(), 1);
  EXPECT_EQ(Data("d"), "1");
  EXPECT_EQ(faulty_.calls(Verb::kWatch), 1);
  EXPECT_EQ(faulty_.calls(Verb::kList), 0);
}

TEST_F(StreamListTest, WhatVanishedIsDroppedByTheNextOne) {
  Create("a", "1");
  Create("b", "1");
  RunStream();
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "a"}).ok());
  api_->CompactHistory();
  RunStream();
  clock_.Advance(absl::Milliseconds(100));
  RunStream();
  EXPECT_EQ(cache_.Get({"ns", "a"}), nullptr);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_F(StreamListTest, AServerThatRefusesItIsListedInPagesFromThenOn) {
  Create("a", "1");
  faulty_.FailNext(Verb::kWatch, ApiError(Reason::kInvalid, "sendInitialEvents: Forbidden"));
  RunStream();
  EXPECT_TRUE(cache_.HasSynced());
  EXPECT_FALSE(stream_.streams());
  EXPECT_EQ(stream_.failures(), 0);
  Create("b", "1");
  api_->CompactHistory();
  RunStream();
  clock_.Advance(absl::Milliseconds(100));
  RunStream();
  EXPECT_EQ(faulty_.calls(Verb::kList), 2);
}

// Returns the given events and then no more.
class ScriptedWatcher final : public Watcher {
 public:
  explicit ScriptedWatcher(std::deque<WatchEvent> events) : events_(std::move(events)) {}
  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration) override {
    if (events_.empty()) return std::optional<WatchEvent>();
    WatchEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  void Stop() override {}

 private:
  std::deque<WatchEvent> events_;
};

class ScriptedWatches final : public InterceptedApi {
 public:
  explicit ScriptedWatches(Api& api) : InterceptedApi(api) {}
  std::deque<WatchEvent> events;

 protected:
  absl::Status Intercept(const ApiCall&, const CallOptions& options, Forward forward) override {
    return forward(options);
  }
  std::unique_ptr<Watcher> Wrap(const ResourceType&, std::unique_ptr<Watcher>) override {
    return std::make_unique<ScriptedWatcher>(events);
  }
};

WatchEvent Event(WatchEvent::Type type, const std::string& name, const std::string& data,
                 int version) {
  Json object = NewObject(kConfigMaps, {"ns", name});
  object["data"] = {{"key", data}};
  SetResourceVersion(object, absl::StrCat(version));
  return {type, std::move(object)};
}

// Changes during a streamed list arrive among the initial events.
TEST_F(StreamListTest, WhatChangesWhileTheListIsStreamedCounts) {
  using Type = WatchEvent::Type;
  WatchEvent end = Event(Type::kBookmark, "", "", 20);
  end.object["metadata"]["annotations"] = {{kInitialEventsEnd, "true"}};
  ScriptedWatches scripted(*api_);
  scripted.events = {Event(Type::kAdded, "changed", "1", 1),
                     Event(Type::kAdded, "deleted", "1", 2),
                     Event(Type::kAdded, "again", "1", 3),
                     Event(Type::kModified, "changed", "2", 11),
                     Event(Type::kDeleted, "deleted", "1", 12),
                     Event(Type::kDeleted, "again", "1", 13),
                     Event(Type::kBookmark, "", "", 13),
                     Event(Type::kAdded, "again", "2", 14),
                     end};
  Reflector stream(scripted, kConfigMaps, {.stream_list = true}, cache_, clock_);
  stream.RunOnce(absl::ZeroDuration());
  EXPECT_TRUE(cache_.HasSynced());
  EXPECT_EQ(Data("changed"), "2");
  EXPECT_EQ(cache_.Get({"ns", "deleted"}), nullptr);
  EXPECT_EQ(Data("again"), "2");
  EXPECT_EQ(cache_.LatestVersion(), 20u);
  EXPECT_EQ(stream.lists(), 1);
  EXPECT_EQ(stream.failures(), 0);
}

TEST_F(StreamListTest, AStreamThatBreaksIsListedInPagesThisTime) {
  Create("a", "1");
  faulty_.FailNext(Verb::kWatchNext, ApiError(Reason::kServiceUnavailable, "cut"));
  RunStream();
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(faulty_.calls(Verb::kList), 1);
  EXPECT_TRUE(stream_.streams());
}

}  // namespace
}  // namespace muster::kube
