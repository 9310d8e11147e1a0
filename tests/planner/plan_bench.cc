// Prints how far the planner is from measured steps, and how long a search takes.
//
//   plan_bench FOLDER    FOLDER has the files of tests/planner/measured

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "planner/engine_memory.h"
#include "planner/model_presets.h"
#include "planner/search.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "tests/planner/measured_steps.h"

namespace muster::planner {
namespace {

bool Print(const char* name, const char* peer,
           const absl::StatusOr<std::vector<MeasuredStep>>& steps) {
  if (!steps.ok()) {
    std::fprintf(stderr, "%s\n", std::string(steps.status().message()).c_str());
    return false;
  }
  const Score score = ScoreOf(*steps);
  std::printf("%-38s %4zu rows   mean %5.2f %%   worst %5.1f %%   %s\n", name, steps->size(),
              score.mean, score.worst, peer);
  return true;
}

bool PrintMemory(const std::string& folder) {
  const auto rows = SeleneMemory(folder);
  if (!rows.ok()) return false;
  double kept = 0, state = 0;
  const auto error = [](double bytes, double gib) {
    const double relative = bytes / (gib * 1024 * 1024 * 1024) - 1;
    return 100 * (relative < 0 ? -relative : relative);
  };
  for (const MeasuredMemory& row : *rows) {
    Layout layout = row.layout;
    layout.sequence_parallel = false;
    kept += error(KeptActivations(row.work, layout), row.activations_none) / 2;
    layout.sequence_parallel = true;
    layout.recompute = Recompute::kSelective;
    kept += error(KeptActivations(row.work, layout), row.activations_selective) / 2;
    state += error(MeanState(row.work, layout, SeleneEngine()), row.state);
  }
  const double count = static_cast<double>(rows->size());
  std::printf("%-38s %4zu rows   mean %5.2f %%                   Calculon 2.08 %%\n",
              "Selene, activations", 2 * rows->size(), kept / count);
  std::printf("%-38s %4zu rows   mean %5.2f %%                   Calculon 8.49 %%\n",
              "Selene, parameters and optimizer", rows->size(), state / count);
  return true;
}

void Search(const char* preset, const char* device, int64_t ranks, int64_t batch,
            int64_t sequence) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(preset);
  const Device& found = *FindDevice(device);
  const PlanRequest request{
      .work = {.shape = *ResolveModel(spec, 50257), .sequence = sequence, .global_batch = batch},
      .device = found,
      .wiring = WiringOf(found),
      .engine = MusterEngine(),
      .ranks = ranks,
      .ranks_of_worker = found.joined};
  const auto begin = Clock::Real().Monotonic();
  const auto result = PlanLayouts(request);
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Monotonic() - begin);
  if (!result.ok()) return;
  std::printf("%s on %lld %s: %lld layouts in %.3f s\n", preset, static_cast<long long>(ranks),
              device, static_cast<long long>(result->considered), seconds);
}

int Main(const std::string& folder) {
  const bool printed =
      Print("Selene, time", "Calculon 3.65 % / 8.87 %", SeleneSteps(folder)) &&
      PrintMemory(folder) &&
      Print("vTrain, up to 8 A100", "vTrain 8.37 %", VTrainSteps(folder, false)) &&
      Print("vTrain, up to 512 A100", "vTrain 14.73 %", VTrainSteps(folder, true)) &&
      Print("muster, one H100 or H200", "", MusterSteps(folder));
  if (!printed) return 1;
  Search("llama-2-70b", "A100-80GB", 512, 1024, 4096);
  Search("llama-3-405b", "H100", 10'240, 2560, 8192);
  return 0;
}

}  // namespace
}  // namespace muster::planner

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: plan_bench FOLDER\n");
    return 2;
  }
  return muster::planner::Main(argv[1]);
}
