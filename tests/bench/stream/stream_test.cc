// Tests the world and the kubelet through which `tools/bench placement` streams jobs: all jobs end.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/bench/stream/stream_kubelet.h"
#include "tests/bench/stream/stream_world.h"

namespace muster::control {
namespace {

TEST(StreamTest, JobsAreMadeBoundRunAndEnded) {
  constexpr int kJobs = 12;
  Inventory inventory{{"rack"}, {}};
  for (int i = 0; i < 4; ++i) {
    NodeInventory node;
    node.name = absl::StrCat("n", i);
    node.allocatable = {0, 4000, int64_t{64} << 30, 110};
    node.domains = {absl::StrCat("r", i / 2)};
    inventory.nodes.push_back(node);
  }
  QueueSpec queue;
  queue.name = "q";
  queue.parent = "all";
  queue.quotas = {{"cpu", 8000, 8000, {}}};
  const auto world = StreamWorld::Start(nullptr, inventory, {queue});
  ASSERT_TRUE(world.ok()) << world.status();
  StreamKubelet kubelet((*world)->api(), (*world)->app().agents(), StreamWorld::kNamespace,
                        [](const std::string&) { return absl::Milliseconds(20); }, 2);
  kube::WatchOptions options;
  options.name_space = StreamWorld::kNamespace;
  const auto watcher = (*world)->api().Watch(kube::kTrainingJobs, options);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  for (int i = 0; i < kJobs; ++i) {
    QueuedJob job;
    job.name = absl::StrCat("job-", i);
    job.queue = "q";
    job.request.per_worker = {0, 1000, 0, 1};
    job.request.min = job.request.max = 1 + i % 8;
    if (i % 2 == 0) job.request.required_level = "rack";
    const auto made = (*world)->api().Create(kube::kTrainingJobs, StreamWorld::JobObject(job));
    ASSERT_TRUE(made.ok()) << made.status();
  }
  std::set<std::string> done;
  const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
  while (done.size() < kJobs && Clock::Real().Monotonic() < deadline) {
    const auto event = (*watcher)->Next(absl::Milliseconds(100));
    ASSERT_TRUE(event.ok()) << event.status();
    if (*event && kube::StringAt((*event)->object, {"status", "state"}) == "Succeeded") {
      done.insert(kube::NameOf((*event)->object));
    }
  }
  EXPECT_EQ(done.size(), static_cast<size_t>(kJobs)) << kubelet.status();
  EXPECT_TRUE(kubelet.status().ok()) << kubelet.status();
}

}  // namespace
}  // namespace muster::control
