#include "operator/kube/wrap/observed_api.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::kube {
namespace {

using ::testing::ElementsAre;

class Told final : public WatchObserver, public RequestObserver {
 public:
  void Listed(std::string_view resource) override { Add("listed", resource, ""); }
  void WatchOpened(std::string_view resource) override { Add("opened", resource, ""); }
  void WatchEnded(std::string_view resource, std::string_view reason) override {
    Add("ended", resource, reason);
  }
  void Finished(std::string_view verb, std::string_view resource, int code,
                absl::Duration) override {
    Add(verb, resource, std::to_string(code));
  }
  void Throttled(absl::Duration) override { Add("throttled", "", ""); }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  void Add(std::string_view what, std::string_view resource, std::string_view more) {
    lines_.push_back(std::string(what) + " " + std::string(resource) + " " + std::string(more));
  }
  std::vector<std::string> lines_;
};

class ObservedApiTest : public testing::Test {
 protected:
  Json Create(const std::string& name) {
    return *observed_.Create(kConfigMaps, NewObject(kConfigMaps, {"ns", name}));
  }

  ManualClock clock_;
  std::mt19937_64 random_{5};
  std::unique_ptr<MemoryApi> api_ =
      *MemoryApi::Open(clock_, {.random = [this] { return random_(); }});
  Told told_;
  ObservedApi observed_{*api_, clock_, told_, &told_};
};

TEST_F(ObservedApiTest, ReportsEachCallWithTheServersCode) {
  Create("a");
  EXPECT_FALSE(observed_.Create(kConfigMaps, NewObject(kConfigMaps, {"ns", "a"})).ok());
  EXPECT_TRUE(observed_.Get(kConfigMaps, {"ns", "a"}).ok());
  EXPECT_FALSE(observed_.Get(kConfigMaps, {"ns", "b"}).ok());
  EXPECT_TRUE(observed_.Delete(kConfigMaps, {"ns", "a"}).ok());
  EXPECT_THAT(told_.Take(),
              ElementsAre("create configmaps 201", "create configmaps 409", "get configmaps 200",
                          "get configmaps 404", "delete configmaps 200"));
}

TEST_F(ObservedApiTest, ReportsListsOnceAndWatchesByTheReasonOfTheirEnd) {
  for (const char* name : {"a", "b", "c"}) Create(name);
  told_.Take();
  ListOptions list{.limit = 2};
  const ObjectList first = *observed_.List(kConfigMaps, list);
  list.continue_token = first.continue_token;
  ASSERT_TRUE(observed_.List(kConfigMaps, list).ok());
  WatchOptions watch;
  watch.resource_version = first.resource_version;
  watch.server_timeout = absl::Seconds(30);
  auto watcher = *observed_.Watch(kConfigMaps, watch);
  Create("d");
  EXPECT_TRUE((*watcher->Next(absl::ZeroDuration())).has_value());
  clock_.Advance(absl::Minutes(1));
  while (watcher->Next(absl::ZeroDuration()).ok()) {
  }
  EXPECT_FALSE(watcher->Next(absl::ZeroDuration()).ok()) << "told once";
  EXPECT_THAT(told_.Take(),
              ElementsAre("listed configmaps ", "list configmaps 200", "list configmaps 200",
                          "watch configmaps 200", "opened configmaps ", "create configmaps 201",
                          "ended configmaps WatchClosed"));
}

TEST_F(ObservedApiTest, AWatchStoppedOnThisSideHasNotEnded) {
  auto watcher = *observed_.Watch(kConfigMaps, {});
  watcher->Stop();
  EXPECT_FALSE(watcher->Next(absl::ZeroDuration()).ok());
  EXPECT_THAT(told_.Take(), ElementsAre("watch configmaps 200", "opened configmaps "));
}

TEST_F(ObservedApiTest, AWatchThatIsAListCountsAsBoth) {
  WatchOptions watch;
  watch.send_initial_events = true;
  ASSERT_TRUE(observed_.Watch(kConfigMaps, watch).ok());
  EXPECT_THAT(told_.Take(),
              ElementsAre("watch configmaps 200", "listed configmaps ", "opened configmaps "));
}

}  // namespace
}  // namespace muster::kube
