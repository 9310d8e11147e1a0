#ifndef MUSTER_TESTS_FAULTS_FAULT_JOB_H_
#define MUSTER_TESTS_FAULTS_FAULT_JOB_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tests/integration/local_run.h"

namespace muster::tests {

// The small deterministic job that fault tests disturb: two workers of one rank each train
// gpt2-nano with dropout on generated text, so that any lost, repeated or reordered step changes
// the weights.
struct DisturbedJobSpec {
  int steps = 40;
  int global_batch = 8;
  int save_every = 15;
  int min_workers = 2;
  std::string on_rank_failure = "RestartRank";
  std::string orphan_deadline = "60s";
  std::string rank_deadline = "2s";
  // failurePolicy.rules as YAML, "[{...}]"; empty: none.
  std::string rules;
  // MUSTER_FAILPOINTS of the workers; empty: none.
  std::string failpoints;
  std::string checkpoints = "$FOLDER/checkpoints";
  int workers = 2;
  int ranks = 1;  // of each worker
  int spares = 0;
  // trainer.parallelism as YAML, "{...}"; empty: none.
  std::string parallelism;
  // checkpoint.memory as YAML, "{...}"; empty: none.
  std::string memory;
  // topology as YAML, "{...}"; empty: none.
  std::string topology;
};

using Tensors = std::vector<std::pair<std::string, std::string>>;

// Returns a run of the job in a fresh folder, not yet started.
std::unique_ptr<LocalRun> NewRun(const std::string& name, const DisturbedJobSpec& job = {});
std::string ManifestOf(const DisturbedJobSpec& job);
// Starts such a run, and waits until it has reported `step`.
std::unique_ptr<LocalRun> StartUntilStep(int64_t step, const std::string& name,
                                         const DisturbedJobSpec& job);
// Waits until the run has succeeded and returns the tensors of its last checkpoint. An empty
// `checkpoints` stands for the run's own folder.
Tensors FinalTensors(LocalRun& run, const std::string& checkpoints = "");
// The final tensors of an undisturbed run of that many steps, which is trained once per process.
const Tensors& Undisturbed(int steps);
// Expects that the run succeeds with the weights of an undisturbed run and leaves no agents behind.
void ExpectUndisturbedWeights(LocalRun& run, const DisturbedJobSpec& job = {},
                              const std::string& checkpoints = "");
// The job's current status.round, or 0 if it cannot be read.
int64_t RoundOf(const LocalRun& run);
// The job's status.resume; empty if it has none yet.
Json ResumeOf(const LocalRun& run);
// Waits until the job's condition `type` has that reason and returns the condition's message.
absl::StatusOr<std::string> WaitForReason(const LocalRun& run, const std::string& type,
                                          const std::string& reason, absl::Duration within);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_FAULT_JOB_H_
