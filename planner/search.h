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
  // The number of ranks, one on each device: a multiple of those of one worker.
  int64_t ranks = 1;
  int32_t ranks_of_worker = 1;
  // The only micro-batch to consider. 0: all.
  int32_t micro_batch = 0;
};

// Why a layout is refused: a rule of the manifest (training_job.proto), or the memory.
enum class Refusal {
  kRanks,         // they are no multiple of tensor x context x pipeline
  kHeads,         // tensor, or tensor x context, does not divide the heads
  kSequence,      // tensor x context does not divide the sequence
  kStages,        // stages have no block
  kMicroBatches,  // there are fewer micro-batches than workers
  kFp8,           // FP8 products need multiples of 16
  kWeights,       // memory, where the state or activations or logits take most
  kActivations,
  kLogits,
};
// Returns a sentence without its end, for people.
absl::string_view Describe(Refusal refusal);

// A layout with what it would take.
struct Plan {
  Layout layout;
  DeviceMemory memory;
  StepTime time;
};

// All layouts that are refused for one reason, as their number and the one that missed by least.
struct Refused {
  Refusal reason = Refusal::kRanks;
  int64_t layouts = 0;
  Layout nearest;
  int64_t bytes = 0;  // that the nearest needs; 0 where memory is not the reason
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
  std::vector<Neighbour>
      neighbours;                // of the chosen one; those that can run first, the fastest first
  std::vector<Refused> refused;  // in the order of Refusal
  int64_t considered = 0;        // layouts, accepted or refused
};

// Checks one layout of a request by the rules that a manifest has, and by its memory; returns why
// it is refused. Fills `plan` unless a rule refuses it.
std::optional<Refusal> CheckLayout(const PlanRequest& request, const Layout& layout, Plan& plan);

// InvalidArgument for a request that no layout could satisfy: no ranks, an impossible batch, a
// device without the precision. A result without plans says why in `refused`.
//
// Of plans whose steps are within 3 % of the shortest one's, which is less than predictions differ
// from measurements, the simplest comes first: the one with the fewest axes, the lowest stage of
// ZeRO, and no recomputation.
absl::StatusOr<PlanResult> PlanLayouts(const PlanRequest& request);

// Returns the part of the devices' arithmetic in the work's precision that a step uses.
double ModelUse(const PlanRequest& request, double seconds);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_SEARCH_H_
