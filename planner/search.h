#ifndef MUSTER_PLANNER_SEARCH_H_
#define MUSTER_PLANNER_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/device_memory.h"
#include "planner/devices.h"
#include "planner/engine.h"
#include "planner/memory.h"
#include "planner/step_time.h"

namespace muster::planner {

// Searches for the layout with which a job's steps are shortest. Pure, thread-safe.

// A job, and the devices that it is to have.
struct PlanRequest {
  Work work;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  Device device;
  Wiring wiring;
  Engine engine;
  // The number of ranks, one on each device: a multiple of ranks_of_worker.
  int64_t ranks = 1;
  int32_t ranks_of_worker = 1;
  // The only micro-batch to consider. 0: all.
  int32_t micro_batch = 0;
  // The job sends weights in BF16, so its ranks must divide them.
  bool divides_weights = false;
};

// Why a layout is refused: a rule of the manifest (training_job.proto), or the memory.
enum class Refusal {
  kRanks,         // the ranks are not a multiple of tensor x context x pipeline
  kHeads,         // tensor, or tensor x context, does not divide the heads
  kSequence,      // tensor x context does not divide the sequence
  kStages,        // some stages have no block
  kMicroBatches,  // there are fewer micro-batches than workers
  kFp8,           // FP8 products need multiples of 16
  kWeightsSent,   // weights that ranks send in BF16 need zero 3
  kWeights,       // memory is too small, and the state takes the largest part
  kActivations,   // the same, but activations do
  kLogits,        // the same, but logits do
};
// Returns a sentence without its end, for people.
absl::string_view Describe(Refusal refusal);

// A layout with what it would take.
struct Plan {
  Layout layout;
  DeviceMemory memory;
  StepTime time;
};

// The layouts that are refused for one reason: how many there are, and the one that missed by
// least.
struct Refused {
  Refusal reason = Refusal::kRanks;
  int64_t layouts = 0;
  Layout nearest;
  int64_t bytes = 0;  // needed by `nearest`; 0 if memory is not the reason
};

// A plan that differs from another in one decision.
struct Neighbour {
  std::string change;  // for people, such as "tensor: 4 in place of 8"
  Plan plan;
  // Absent: it could run.
  std::optional<Refusal> refusal;
};

struct PlanResult {
  // The chosen one first, then the next best that differ from it in more than their micro-batch.
  std::vector<Plan> plans;
  // The neighbours of the chosen plan: first those that can run, the fastest first.
  std::vector<Neighbour> neighbours;
  std::vector<Refused> refused;  // in the order of Refusal
  int64_t considered = 0;        // layouts, accepted or refused
};

// Checks one layout of a request against the rules of a manifest, and against the memory. Returns
// why it is refused, or nullopt. Fills `plan` unless a rule refuses the layout.
std::optional<Refusal> CheckLayout(const PlanRequest& request, const Layout& layout, Plan& plan);

// InvalidArgument for a request that no layout could satisfy: no ranks, an impossible batch, a
// device without the precision. A result without plans says why in `refused`.
//
// Plans whose steps are within 3 % of the shortest one's count as equally fast, because predictions
// differ from measurements by more. The simplest of them comes first: the one with the fewest axes,
// the lowest stage of ZeRO, and no recomputation.
absl::StatusOr<PlanResult> PlanLayouts(const PlanRequest& request);

// Returns the fraction of the devices' arithmetic, in the work's precision, that a step of this
// many seconds uses.
double ModelUse(const PlanRequest& request, double seconds);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_SEARCH_H_
