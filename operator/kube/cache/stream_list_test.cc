#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/api_error.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/cache/reflector_fixture.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/wrap/intercepted_api.h"

// Tests lists that arrive as the first events of a watch.

namespace muster::kube {
namespace {

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

TEST_F(StreamListTest, ObjectsThatVanishedAreDroppedByTheNextList) {
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
