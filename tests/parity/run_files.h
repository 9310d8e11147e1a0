#ifndef MUSTER_TESTS_PARITY_RUN_FILES_H_
#define MUSTER_TESTS_PARITY_RUN_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "trainer/engine/state/training_state.h"

// The files of a run that parity.py and curve.py repeat in PyTorch.
namespace muster::trainer {

// Writes double, float and int64 tensors of any device to a file of safetensors.
absl::Status WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors);

// Returns the part "optimizer" of run.json: adamw or sgd with these options and a cosine schedule.
Json OptimizerJson(const std::string& name, const TrainingOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_RUN_FILES_H_
