// `muster plan`: which layout a job should have, what it would take, and why not another one.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/plan/cluster_wiring.h"
#include "cli/plan/plan_text.h"
#include "cli/simulate/sim_cluster.h"
#include "operator/api/defaults.h"
#include "operator/api/manifest.h"
#include "planner/layout.h"
#include "planner/plan_spec.h"
#include "planner/search.h"

namespace muster::cli {
namespace {

constexpr int64_t kMostRanks = 1'000'000;
constexpr double kMostOversubscription = 1000;

// Where the ranks of a job are to run.
struct Place {
  planner::Device device;
  planner::Wiring wiring;
  int64_t ranks = 0;
  int32_t of_worker = 1;
};

std::string DeviceNames() {
  return absl::StrJoin(
      planner::Devices(), ", ",
      [](std::string* out, const planner::Device& device) { absl::StrAppend(out, device.name); });
}

// The plan replaces the layout, so what is wrong with that alone is no reason to refuse the job.
bool ConcernsLayout(const control::ManifestError& error) {
  return absl::StartsWith(error.path, "spec.trainer.parallelism") ||
         absl::StartsWith(error.message, "every rank needs a micro-batch");
}

absl::StatusOr<control::TrainingJob> ReadManifest(const std::string& file) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
  control::ManifestResult manifest = control::ParseManifest(text);
  std::vector<control::ManifestError> errors;
  for (const control::ManifestError& error : manifest.errors) {
    if (!ConcernsLayout(error)) errors.push_back(error);
  }
  if (errors.empty()) return std::move(manifest.job);
  std::string message =
      absl::StrCat(file, " is no valid job:\n", control::FormatErrors(file, errors));
  message.pop_back();
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<planner::Device> DeviceFor(const Flags& flags, const std::string& product,
                                          bool has_gpus) {
  const std::string name = flags.Get("device", "");
  if (!name.empty()) {
    const planner::Device* device = planner::FindDevice(name);
    if (device != nullptr) return *device;
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no device '", name, "' in the planner's table; there are ", DeviceNames()));
  }
  if (!product.empty()) {
    const planner::Device* device = planner::FindDevice(product);
    if (device != nullptr) return *device;
    return absl::InvalidArgumentError(absl::StrCat("the cluster's GPUs are ", product,
                                                   ", which the planner's table lacks: give "
                                                   "--device with the nearest of ",
                                                   DeviceNames()));
  }
  if (!has_gpus) return *planner::FindDevice("CPU");
  return absl::InvalidArgumentError(
      absl::StrCat("which GPUs? Give --device with one of ", DeviceNames(),
                   ", or --cluster with a file whose nodes have the label nvidia.com/gpu.product"));
}

// Returns the GPUs of --cluster; none without the flag.
absl::StatusOr<ClusterGpus> ReadCluster(const Flags& flags) {
  if (!flags.Has("cluster")) return ClusterGpus();
  const std::string file = flags.Get("cluster", "");
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
  MUSTER_ASSIGN_OR_RETURN(const SimCluster cluster, ParseCluster(text, file));
  return GpusOf(cluster);
}

absl::StatusOr<int64_t> RanksFor(const Flags& flags, const v1alpha1::WorkersSpec& workers) {
  const int64_t asked = int64_t{std::max(1, workers.count())} * planner::RanksOf(workers);
  MUSTER_ASSIGN_OR_RETURN(const int64_t ranks, flags.GetInt("gpus", asked));
  if (ranks >= 1 && ranks <= kMostRanks) return ranks;
  return absl::InvalidArgumentError(
      absl::StrCat("--gpus: want a number from 1 to ", kMostRanks, ", not ", ranks));
}

absl::Status CheckPlace(const Place& place, const ClusterGpus& cluster) {
  if (place.ranks % place.of_worker != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.ranks, " ranks are no whole workers of ", place.of_worker, " each"));
  }
  if (cluster.count == 0) return absl::OkStatus();
  if (place.ranks > cluster.count) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cluster has ", cluster.count, " GPUs, and the job wants ", place.ranks));
  }
  if (place.of_worker > cluster.of_node) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a worker has ", place.of_worker, " GPUs, and a node of the cluster ", cluster.of_node));
  }
  return absl::OkStatus();
}

// Shares the ranks out among workers, and wires them.
absl::StatusOr<Place> PlaceFor(const Flags& flags, const v1alpha1::WorkersSpec& workers) {
  MUSTER_ASSIGN_OR_RETURN(const ClusterGpus cluster, ReadCluster(flags));
  const bool has_gpus = workers.gpus() > 0 || flags.Has("gpus") || cluster.count > 0;
  Place place;
  MUSTER_ASSIGN_OR_RETURN(place.ranks, RanksFor(flags, workers));
  MUSTER_ASSIGN_OR_RETURN(place.device, DeviceFor(flags, cluster.product, has_gpus));
  place.of_worker = planner::RanksOf(workers);
  if (flags.Has("gpus") && workers.gpus() == 0) {
    const int32_t machine = cluster.count > 0 ? cluster.of_node : place.device.joined;
    place.of_worker = static_cast<int32_t>(std::min<int64_t>(place.ranks, machine));
  }
  MUSTER_RETURN_IF_ERROR(CheckPlace(place, cluster));
  if (place.device.is_cpu) place.device = planner::ShareOfMachine(place.device, place.of_worker);
  place.wiring = cluster.count > 0 ? cluster.wiring : planner::WiringOf(place.device);
  // Workers may be on different machines, whatever else these have room for.
  if (place.wiring.joined <= place.wiring.machine) {
    place.wiring.joined = std::min(place.wiring.joined, place.of_worker);
  }
  MUSTER_ASSIGN_OR_RETURN(place.wiring.oversubscription, flags.GetDouble("oversubscription", 1));
  if (place.wiring.oversubscription >= 1 &&
      place.wiring.oversubscription <= kMostOversubscription) {
    return place;
  }
  return absl::InvalidArgumentError(
      "--oversubscription: want the bandwidth below a leaf switch divided by that between them, "
      "from 1 to 1000");
}

// Returns the ranks of the smallest doubling of a request that has a plan; 0 if none has.
int64_t EnoughRanks(planner::PlanRequest request) {
  for (int doubling = 0; doubling < 12; ++doubling) {
    request.ranks *= 2;
    const auto result = planner::PlanLayouts(request);
    if (!result.ok()) return 0;
    if (!result->plans.empty()) return request.ranks;
  }
  return 0;
}

std::string ModelName(const v1alpha1::ModelSpec& model) {
  if (model.has_preset()) return model.preset();
  return model.has_family() ? model.family() : "gpt2";
}

absl::StatusOr<PlanAnswer> MakePlan(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(const std::string file, flags.OnePositional());
  if (file.empty()) return absl::InvalidArgumentError("which manifest? muster plan FILE");
  MUSTER_ASSIGN_OR_RETURN(control::TrainingJob job, ReadManifest(file));
  control::Default(job.spec);
  MUSTER_ASSIGN_OR_RETURN(const Place place, PlaceFor(flags, job.spec.workers()));
  PlanAnswer answer{.job = job.name,
                    .model = ModelName(job.spec.trainer().model()),
                    .precision = job.spec.trainer().train().precision(),
                    .steps = job.spec.trainer().train().steps()};
  MUSTER_ASSIGN_OR_RETURN(answer.request, planner::RequestOf(job.spec, place.device, place.wiring,
                                                             place.ranks, place.of_worker));
  if (flags.Has("keep-micro-batch")) {
    answer.request.micro_batch = job.spec.trainer().train().micro_batch();
  }
  MUSTER_ASSIGN_OR_RETURN(answer.result, planner::PlanLayouts(answer.request));
  if (answer.result.plans.empty()) answer.enough_ranks = EnoughRanks(answer.request);
  const planner::Layout written = planner::LayoutOf(job.spec.trainer(), place.ranks);
  answer.written_refusal = planner::CheckLayout(answer.request, written, answer.written);
  return answer;
}

}  // namespace

std::vector<FlagSpec> PlanFlags() {
  return {
      {"cluster",
       "a cluster file as for muster simulate: its nodes say how many GPUs there are, their "
       "product, and what joins them"},
      {"gpus", "the number of GPUs to plan for; default: those of the manifest's workers"},
      {"device",
       "the GPU, such as A100-80GB or H100; default: the product of the cluster's "
       "nodes, or a CPU for a job without GPUs"},
      {"oversubscription",
       "the bandwidth below a leaf switch divided by that from leaf to leaf; "
       "default 1; leaves are the narrowest level of --cluster"},
      {"keep-micro-batch", "consider the manifest's train.microBatch alone", /*is_switch=*/true},
      {"json", "print the answer as JSON", /*is_switch=*/true}};
}

int PlanMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, PlanFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto answer = MakePlan(*flags);
  if (!answer.ok()) return Fail(answer.status());
  if (flags->Has("json")) {
    std::printf("%s\n", DumpJson(PlanJson(*answer), 2).c_str());
  } else {
    std::printf("%s", PlanText(*answer).c_str());
  }
  return answer->result.plans.empty() ? kExitFailed : kExitOk;
}

}  // namespace muster::cli
