#ifndef MUSTER_TESTS_FAULTS_FAULT_JOB_H_
#define MUSTER_TESTS_FAULTS_FAULT_JOB_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/local_run.h"

namespace muster::tests {

// The small deterministic job that fault tests disturb: two workers of one rank each, gpt2-nano
// with dropout on text of its own making, so that any lost, doubled or reordered step shows in the
// weights.
struct FaultJob {
  int steps = 40;
  int save_every = 15;
  int min_workers = 2;
  std::string on_rank_failure = "RestartRank";
  std::string orphan_deadline = "60s";
  std::string rank_deadline = "2s";
  // failurePolicy.rules as YAML, "[{...}]"; none when empty.
  std::string rules;
  // MUSTER_FAILPOINTS of the workers; none when empty.
  std::string failpoints;
  std::string checkpoints = "$FOLDER/checkpoints";
};

using Tensors = std::vector<std::pair<std::string, std::string>>;

// A run of it, not started, in a fresh folder.
std::unique_ptr<LocalRun> NewRun(const std::string& name, const FaultJob& job = {});
std::string ManifestOf(const FaultJob& job);
// Waits for the run's success; the tensors of its last checkpoint.
Tensors FinalTensors(LocalRun& run, const std::string& checkpoints = "");
// Of an undisturbed run of that many steps, trained once per process.
const Tensors& Undisturbed(int steps);
// The run ends well, with the undisturbed weights, and nothing of it is left.
void ExpectUndisturbedWeights(LocalRun& run, const FaultJob& job = {},
                              const std::string& checkpoints = "");
// The job's status.round now, 0 when it cannot be read.
int64_t RoundOf(const LocalRun& run);
// Waits until the job's condition `type` has that reason; its message.
absl::StatusOr<std::string> WaitForReason(const LocalRun& run, const std::string& type,
                                          const std::string& reason, absl::Duration within);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_FAULT_JOB_H_
