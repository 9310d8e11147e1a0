#ifndef MUSTER_PLANNER_PLAN_SPEC_H_
#define MUSTER_PLANNER_PLAN_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "planner/search.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// Converts plans to the words of a manifest, and manifests to requests for a plan. Pure,
// thread-safe.

// Returns the request of a job's spec after Default(), for `ranks` ranks of one device each and
// `ranks_of_worker` in each worker. InvalidArgument for a job without the built-in trainer, a model
// that is not described by its shape, and an impossible shape.
absl::StatusOr<PlanRequest> RequestOf(const v1alpha1::TrainingJobSpec& spec, const Device& device,
                                      const Wiring& wiring, int64_t ranks, int ranks_of_worker);

// Returns the layout that a job's spec after Default() already has, for `ranks` ranks.
Layout LayoutOf(const v1alpha1::TrainerSpec& trainer, int64_t ranks);

// Writes a layout into a spec: parallelism, activations and the micro-batch.
void ApplyLayout(const Layout& layout, v1alpha1::TrainerSpec& trainer);

// Returns a layout as lines of YAML below `trainer:`, each indented by `indent` spaces and ended by
// a newline. Fields at their defaults are left out.
std::string LayoutYaml(const Layout& layout, int indent);

// Returns a layout in one line, for people, such as "8 x data, tensor 2, zero 1, micro-batch 4".
std::string LayoutText(const Layout& layout);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_PLAN_SPEC_H_
