#include "tests/bench/contest/scheduler_peer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::control {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

Json AmountsOf(const Resources& resources) {
  return {{"cpu", absl::StrCat(resources.cpu_millis, "m")},
          {"memory", absl::StrCat(resources.memory_bytes)},
          {kGpu, absl::StrCat(resources.gpus)}};
}

Json PodWith(const std::string& name, const Resources& resources) {
  const Json container = {
      {"name", "worker"},
      {"resources",
       {{"requests", AmountsOf(resources)}, {"limits", {{kGpu, absl::StrCat(resources.gpus)}}}}}};
  return {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
          {"spec", {{"containers", Json::array({container})}}}};
}

Json RequestFor(const Contest& contest, uint64_t seed) {
  Json nodes = Json::array(), pods = Json::array(), gangs = Json::array();
  for (const NodeInventory& node : contest.inventory.nodes) {
    Json has = AmountsOf(node.allocatable);
    has["pods"] = absl::StrCat(node.allocatable.slots);
    nodes.push_back({{"metadata", {{"name", node.name}}},
                     {"status", {{"allocatable", has}, {"capacity", has}}}});
    if (node.free.gpus == node.allocatable.gpus) continue;
    Json pod = PodWith("other-" + node.name, WithGpus(node.allocatable.gpus - node.free.gpus));
    pod["spec"]["nodeName"] = node.name;
    pods.push_back(std::move(pod));
  }
  for (const GangRequest& gang : contest.gangs) {
    gangs.push_back({{"pod", PodWith(gang.job, gang.per_worker)}, {"count", gang.max}});
  }
  return {{"nodes", nodes}, {"pods", pods}, {"gangs", gangs}, {"seed", seed}};
}

}  // namespace

absl::StatusOr<Places> PlaceAsKubeScheduler(const Contest& contest, uint64_t seed,
                                            const std::string& peer, const std::string& folder) {
  const std::string in = folder + "/gangs.json", out = folder + "/placed.json";
  MUSTER_RETURN_IF_ERROR(
      WriteFileAtomically(FileSystem(), in, DumpJson(RequestFor(contest, seed)) + "\n"));
  const std::string command = absl::StrCat("'", peer, "' <'", in, "' >'", out, "'");
  if (std::system(command.c_str()) != 0) return absl::InternalError(command + " failed");
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), out));
  MUSTER_ASSIGN_OR_RETURN(const Json answer, ParseJson(text));
  Places places;
  for (const Json& gang : answer.at("placed")) {
    places.push_back(gang.get<std::vector<std::string>>());
    if (std::count(places.back().begin(), places.back().end(), "") > 0) places.back().clear();
  }
  return places;
}

}  // namespace muster::control
