// impossible_gang NODES measures how long it takes until the condition of a job whose gang cannot
// be placed says so: with the real operator over the embedded API, from the creation of the job to
// the watch event that shows the condition. Prints a JSON object.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/testing/patience.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/bench/stream/stream_world.h"

namespace muster::control {
namespace {

constexpr int kNodesPerLeaf = 32;
constexpr int kTimes = 11;
constexpr int kWorkers = 64;  // twice what one leaf has room for

Inventory Cluster(int nodes) {
  Inventory inventory{{"spine", "leaf"}, {}};
  for (int i = 0; i < nodes; ++i) {
    const int leaf = i / kNodesPerLeaf;
    NodeInventory node;
    node.name = absl::StrCat("node-", i);
    node.free = node.allocatable = {8, 192'000, int64_t{2} << 40, 110};
    node.domains = {absl::StrCat("s", leaf / 16), absl::StrCat("l", leaf)};
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

std::string ToldOf(const Json& job) {
  const Json* conditions = kube::Find(job, {"status", "conditions"});
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (kube::StringAt(condition, {"type"}) == "Scheduled" &&
        kube::StringAt(condition, {"reason"}) == "Unschedulable") {
      return kube::StringAt(condition, {"message"});
    }
  }
  return "";
}

absl::StatusOr<double> TimeOne(StreamWorld& world, int number, std::string& sentence) {
  QueuedJob job;
  job.name = absl::StrCat("wide-", number);
  job.request.per_worker = {8, 8000, 0, 1};
  job.request.min = job.request.max = kWorkers;
  job.request.required_level = "leaf";
  kube::WatchOptions options;
  options.name_space = StreamWorld::kNamespace;
  MUSTER_ASSIGN_OR_RETURN(const auto watcher, world.api().Watch(kube::kTrainingJobs, options));
  const absl::Time start = Clock::Real().Monotonic();
  MUSTER_RETURN_IF_ERROR(
      world.api().Create(kube::kTrainingJobs, StreamWorld::JobObject(job)).status());
  while (Clock::Real().Monotonic() < start + kPatience) {
    MUSTER_ASSIGN_OR_RETURN(const auto event, watcher->Next(absl::Milliseconds(200)));
    if (!event || kube::NameOf(event->object) != job.name) continue;
    const std::string told = ToldOf(event->object);
    if (told.empty()) continue;
    sentence = told;
    const absl::Duration took = Clock::Real().Monotonic() - start;
    MUSTER_RETURN_IF_ERROR(
        world.api().Delete(kube::kTrainingJobs, {StreamWorld::kNamespace, job.name}));
    return absl::ToDoubleSeconds(took);
  }
  return absl::DeadlineExceededError("the job was never told");
}

absl::Status Run(int nodes) {
  MUSTER_ASSIGN_OR_RETURN(const auto world, StreamWorld::Start(nullptr, Cluster(nodes), {}));
  std::vector<double> seconds;
  std::string sentence;
  for (int i = 0; i < kTimes; ++i) {
    MUSTER_ASSIGN_OR_RETURN(const double one, TimeOne(*world, i, sentence));
    seconds.push_back(one);
  }
  std::sort(seconds.begin(), seconds.end());
  const Json result = {{"nodes", nodes},
                       {"workers", kWorkers},
                       {"medianSeconds", seconds[kTimes / 2]},
                       {"mostSeconds", seconds.back()},
                       {"sentence", sentence}};
  std::printf("%s\n", DumpJson(result).c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::control

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  int nodes = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &nodes)) {
    std::fprintf(stderr, "usage: impossible_gang NODES\n");
    return 2;
  }
  muster::SetLogLevel(muster::LogLevel::kError);
  const absl::Status status = muster::control::Run(nodes);
  if (status.ok()) return 0;
  std::fprintf(stderr, "impossible_gang: %s\n", std::string(status.message()).c_str());
  return 1;
}
