#include <memory>
#include <string>

#include "operator/kube/conformance/conformance.h"

// Conformance tests of watches.
namespace muster::kube {
namespace {

TEST_P(ConformanceTest, WatchSeesLaterChangesInOrder) {
  MadePod("before");
  const auto watcher = Watching(kPods, ListVersion(kPods));
  MadePod("a");
  MadePod("b");
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("a"), {{"labels", {{"x", "y"}}}}).ok());
  ASSERT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 0}).ok());
  EXPECT_EQ(NextEvent(*watcher), "ADDED a");
  EXPECT_EQ(NextEvent(*watcher), "ADDED b");
  EXPECT_EQ(NextEvent(*watcher), "MODIFIED a");
  // A server may send the deletionTimestamp before the deletion.
  std::string last = NextEvent(*watcher);
  if (last == "MODIFIED a") last = NextEvent(*watcher);
  EXPECT_EQ(last, "DELETED a");
}

TEST_P(ConformanceTest, EventsCarryGrowingVersions) {
  const std::string start = ListVersion(kConfigMaps);
  const auto watcher = Watching(kConfigMaps, start);
  for (const char* name : {"a", "b", "c"}) MadeConfigMap(name);
  uint64_t last = *ParseResourceVersion(start);
  for (int i = 0; i < 3; ++i) {
    const auto event = watcher->Next(environment().Patience());
    ASSERT_TRUE(event.ok() && event->has_value());
    const uint64_t version = *ParseResourceVersion(ResourceVersionOf((*event)->object));
    EXPECT_GT(version, last);
    last = version;
  }
}

TEST_P(ConformanceTest, WatchFromNoVersionStartsWithWhatExists) {
  MadePod("a");
  MadePod("b");
  for (const char* version : {"", "0"}) {
    const auto watcher = Watching(kPods, version);
    EXPECT_EQ(NextEvent(*watcher), "ADDED a") << version;
    EXPECT_EQ(NextEvent(*watcher), "ADDED b") << version;
  }
  const auto watcher = Watching(kPods, "");
  NextEvent(*watcher);
  NextEvent(*watcher);
  MadePod("c");
  EXPECT_EQ(NextEvent(*watcher), "ADDED c");
}

TEST_P(ConformanceTest, AWatchMarksTheEndOfWhatExistsWhenAsked) {
  MadePod("a");
  MadePod("b");
  WatchOptions options;
  options.name_space = name_space();
  options.send_initial_events = true;
  absl::StatusOr<std::unique_ptr<Watcher>> watcher = api().Watch(kPods, options);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  EXPECT_EQ(NextEvent(**watcher), "ADDED a");
  EXPECT_EQ(NextEvent(**watcher), "ADDED b");
  const auto end = (*watcher)->Next(environment().Patience());
  ASSERT_TRUE(end.ok() && end->has_value()) << end.status();
  EXPECT_EQ((*end)->type, WatchEvent::Type::kBookmark);
  EXPECT_EQ(AnnotationOf((*end)->object, kInitialEventsEnd), "true");
  const auto resumed = Watching(kPods, ResourceVersionOf((*end)->object));
  MadePod("c");
  EXPECT_EQ(NextEvent(**watcher), "ADDED c");
  EXPECT_EQ(NextEvent(*resumed), "ADDED c");
}

TEST_P(ConformanceTest, WatchFromAnObjectsVersionSeesOnlyWhatCameAfterIt) {
  const Json a = MadePod("a");
  MadePod("b");
  const auto watcher = Watching(kPods, ResourceVersionOf(a));
  EXPECT_EQ(NextEvent(*watcher), "ADDED b");
  EXPECT_FALSE(*watcher->Next(absl::ZeroDuration()));
}

TEST_P(ConformanceTest, WatchResumedFromTheLastEventLosesAndRepeatsNothing) {
  std::unique_ptr<Watcher> watcher = Watching(kPods, ListVersion(kPods));
  MadePod("a");
  const auto first = watcher->Next(environment().Patience());
  ASSERT_TRUE(first.ok() && first->has_value());
  const std::string version = ResourceVersionOf((*first)->object);
  watcher->Stop();
  MadePod("b");
  watcher = Watching(kPods, version);
  EXPECT_EQ(NextEvent(*watcher), "ADDED b");
}

TEST_P(ConformanceTest, WatchFromTooOldAVersionIsExpiredAndAListHelps) {
  const Json old = MadePod("a");
  MadePod("b");
  if (!environment().ExpireHistory()) GTEST_SKIP() << "this server cannot be made to forget";
  WatchOptions options;
  options.name_space = name_space();
  options.resource_version = ResourceVersionOf(old);
  absl::StatusOr<std::unique_ptr<Watcher>> watcher = api().Watch(kPods, options);
  // Depending on the server, the call or the stream reports it.
  const absl::Status status =
      watcher.ok() ? (*watcher)->Next(environment().Patience()).status() : watcher.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReasonOf(status), Reason::kExpired);
  const auto again = Watching(kPods, ListVersion(kPods));
  MadePod("c");
  EXPECT_EQ(NextEvent(*again), "ADDED c");
}

TEST_P(ConformanceTest, WatchFromAMalformedVersionIsRefused) {
  WatchOptions options;
  options.name_space = name_space();
  options.resource_version = "not-a-version";
  const auto watcher = api().Watch(kPods, options);
  EXPECT_FALSE(watcher.ok() && (*watcher)->Next(environment().Patience()).ok());
}

TEST_P(ConformanceTest, ADeletionCarriesTheLastStateAtANewVersion) {
  const auto watcher = Watching(kConfigMaps, ListVersion(kConfigMaps));
  const Json made = MadeConfigMap("a");
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  EXPECT_EQ(NextEvent(*watcher), "ADDED a");
  const auto event = watcher->Next(environment().Patience());
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(StringAt((*event)->object, {"data", "key"}), "value");
  EXPECT_EQ(UidOf((*event)->object), UidOf(made));
  EXPECT_GT(*ParseResourceVersion(ResourceVersionOf((*event)->object)),
            *ParseResourceVersion(ResourceVersionOf(made)));
}

TEST_P(ConformanceTest, EnteringAndLeavingASelectorAreAddedAndDeleted) {
  const auto watcher = Watching(kConfigMaps, ListVersion(kConfigMaps), "in=yes");
  MadeConfigMap("a");
  const auto label = [&](const Json& value) {
    return api().PatchMetadata(kConfigMaps, Key("a"), {{"labels", {{"in", value}}}}).ok();
  };
  ASSERT_TRUE(label("yes"));
  EXPECT_EQ(NextEvent(*watcher), "ADDED a");
  ASSERT_TRUE(api().PatchMetadata(kConfigMaps, Key("a"), {{"labels", {{"x", "y"}}}}).ok());
  EXPECT_EQ(NextEvent(*watcher), "MODIFIED a");
  ASSERT_TRUE(label("no"));
  EXPECT_EQ(NextEvent(*watcher), "DELETED a");
  ASSERT_TRUE(label("yes"));
  EXPECT_EQ(NextEvent(*watcher), "ADDED a");
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  EXPECT_EQ(NextEvent(*watcher), "DELETED a");
}

TEST_P(ConformanceTest, WatchOfOneNamespaceIsSilentAboutOthers) {
  const auto watcher = Watching(kConfigMaps, ListVersion(kConfigMaps));
  Json elsewhere = ConfigMap("elsewhere");
  elsewhere["metadata"]["namespace"] = environment().Namespace();
  Made(kConfigMaps, elsewhere);
  MadeConfigMap("here");
  EXPECT_EQ(NextEvent(*watcher), "ADDED here");
}

TEST_P(ConformanceTest, StatusUpdatesAreEvents) {
  Json job = MadeJob("a");
  const auto watcher = Watching(kTrainingJobs, ListVersion(kTrainingJobs));
  job["status"] = {{"round", 1}};
  ASSERT_TRUE(api().UpdateStatus(kTrainingJobs, job).ok());
  EXPECT_EQ(NextEvent(*watcher), "MODIFIED a");
}

TEST_P(ConformanceTest, AnUpdateThatChangesNothingIsNoEvent) {
  const Json object = MadeConfigMap("a");
  const auto watcher = Watching(kConfigMaps, ListVersion(kConfigMaps));
  ASSERT_TRUE(api().Update(kConfigMaps, object).ok());
  MadeConfigMap("b");
  EXPECT_EQ(NextEvent(*watcher), "ADDED b");
}

TEST_P(ConformanceTest, BookmarksAdvanceAQuietWatch) {
  const std::string start = ListVersion(kPods);
  const auto watcher = Watching(kPods, start);
  const Json other = MadeConfigMap("raises-the-version-only");
  if (!environment().ForceBookmark()) GTEST_SKIP() << "this server sends them when it likes";
  const auto event = watcher->Next(environment().Patience());
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((*event)->type, WatchEvent::Type::kBookmark);
  EXPECT_EQ(StringAt((*event)->object, {"kind"}), "Pod");
  const std::string version = ResourceVersionOf((*event)->object);
  EXPECT_GE(*ParseResourceVersion(version), *ParseResourceVersion(ResourceVersionOf(other)));
  const auto resumed = Watching(kPods, version);
  MadePod("a");
  EXPECT_EQ(NextEvent(*resumed), "ADDED a");
}

TEST_P(ConformanceTest, NextReturnsNothingWhenNothingHappens) {
  const auto watcher = Watching(kPods, ListVersion(kPods));
  const auto event = watcher->Next(absl::Milliseconds(1));
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_FALSE(event->has_value());
}

TEST_P(ConformanceTest, AStoppedWatchIsCancelled) {
  const auto watcher = Watching(kPods, ListVersion(kPods));
  watcher->Stop();
  EXPECT_EQ(watcher->Next(environment().Patience()).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace muster::kube
