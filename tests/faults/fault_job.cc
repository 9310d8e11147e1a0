#include "tests/faults/fault_job.h"

#include <poll.h>

#include <map>
#include <random>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::tests {
namespace {

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: faults}
spec:
  workers: {count: @WORKERS, min: @MIN@SPARES, ranks: @RANKS}
  trainer:
    model: {preset: gpt2-nano, dropout: 0.1}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: @STEPS, globalBatch: @BATCH, microBatch: 2, sequence: 64, precision: fp32, deterministic: true, seed: 7}
    optimizer: {name: adamw, learningRate: 1.0e-3, schedule: cosine, warmupSteps: 10}@PARALLELISM
  checkpoint: {uri: @CHECKPOINTS, interval: {mode: Steps, steps: @SAVE}@MEMORY}
  failurePolicy: {maxFailures: 100, window: 1h, onRankFailure: @POLICY@RULES}
  elastic: {rankDeadline: @RANK, stepDeadline: 10s, orphanDeadline: @ORPHAN}
)";

// Generates text, so that the test needs no corpus.
std::string Corpus() {
  std::mt19937_64 random(11);
  const std::vector<std::string> words = {"the", "gang",  "of",   "ranks", "meets", "again",
                                          "and", "goes",  "on",   "from",  "where", "it",
                                          "was", "round", "step", "loss",  "falls", "slowly"};
  std::string text;
  while (text.size() < 200'000) {
    absl::StrAppend(&text, words[random() % words.size()], random() % 12 == 0 ? ".\n" : " ");
  }
  return text;
}

}  // namespace

std::string ManifestOf(const DisturbedJobSpec& job) {
  const std::string rules = job.rules.empty() ? "" : absl::StrCat(", rules: ", job.rules);
  const std::string parallelism =
      job.parallelism.empty() ? "" : absl::StrCat("\n    parallelism: ", job.parallelism);
  const std::string memory = job.memory.empty() ? "" : absl::StrCat(", memory: ", job.memory);
  const std::string spares = job.spares == 0 ? "" : absl::StrCat(", spares: ", job.spares);
  std::string text = absl::StrReplaceAll(kManifest, {{"@STEPS", absl::StrCat(job.steps)},
                                                     {"@BATCH", absl::StrCat(job.global_batch)},
                                                     {"@WORKERS", absl::StrCat(job.workers)},
                                                     {"@SPARES", spares},
                                                     {"@RANKS", absl::StrCat(job.ranks)},
                                                     {"@PARALLELISM", parallelism},
                                                     {"@MEMORY", memory},
                                                     {"@SAVE", absl::StrCat(job.save_every)},
                                                     {"@MIN", absl::StrCat(job.min_workers)},
                                                     {"@CHECKPOINTS", job.checkpoints},
                                                     {"@POLICY", job.on_rank_failure},
                                                     {"@RULES", rules},
                                                     {"@RANK", job.rank_deadline},
                                                     {"@ORPHAN", job.orphan_deadline}});
  if (!job.topology.empty()) absl::StrAppend(&text, "  topology: ", job.topology, "\n");
  if (!job.failpoints.empty()) {
    absl::StrAppend(&text,
                    "  template: {spec: {containers: [{name: worker, env: [{name: "
                    "MUSTER_FAILPOINTS, value: \"",
                    job.failpoints, "\"}]}]}}\n");
  }
  return text;
}

std::unique_ptr<LocalRun> NewRun(const std::string& name, const DisturbedJobSpec& job) {
  const std::string folder = FreshFolder(name);
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", Corpus()).ok());
  return std::make_unique<LocalRun>(folder, "faults", ManifestOf(job));
}

Json ResumeOf(const LocalRun& run) {
  const auto job = run.Job();
  return job.ok() ? (*job)["status"].value("resume", Json::object()) : Json::object();
}

std::unique_ptr<LocalRun> StartUntilStep(int64_t step, const std::string& name,
                                         const DisturbedJobSpec& job) {
  auto run = NewRun(name, job);
  EXPECT_TRUE(run->Start().ok());
  const absl::Status reached = run->WaitForStep(step, kLong);
  EXPECT_TRUE(reached.ok()) << reached << run->Output();
  return run;
}

Tensors FinalTensors(LocalRun& run, const std::string& checkpoints) {
  const auto end = run.WaitForEnd(kLong);
  EXPECT_TRUE(end.ok()) << end.status();
  if (!end.ok()) return {};
  EXPECT_EQ(end->code, 0) << run.Output();
  const auto tensors = NewestTensors(checkpoints.empty() ? run.Checkpoints() : checkpoints);
  EXPECT_TRUE(tensors.ok()) << tensors.status() << run.Output();
  return tensors.value_or(Tensors());
}

const Tensors& Undisturbed(int steps) {
  static auto* known = new std::map<int, Tensors>;
  const auto [it, is_new] = known->try_emplace(steps);
  if (is_new) {
    auto run = NewRun(absl::StrCat("undisturbed-", steps), {.steps = steps});
    EXPECT_TRUE(run->Start().ok());
    it->second = FinalTensors(*run);
  }
  return it->second;
}

void ExpectUndisturbedWeights(LocalRun& run, const DisturbedJobSpec& job,
                              const std::string& checkpoints) {
  const Tensors got = FinalTensors(run, checkpoints);
  const Tensors& want = Undisturbed(job.steps);
  ASSERT_FALSE(want.empty());
  ASSERT_EQ(got.size(), want.size()) << run.Output();
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].first, want[i].first);
    EXPECT_TRUE(got[i].second == want[i].second)
        << got[i].first << " differs from the undisturbed run\n"
        << run.Output();
  }
  EXPECT_TRUE(run.Agents().empty()) << "agents are left behind";
}

int64_t RoundOf(const LocalRun& run) {
  const auto job = run.Job();
  return job.ok() && job->contains("status") ? (*job)["status"].value("round", int64_t{0}) : 0;
}

absl::StatusOr<std::string> WaitForReason(const LocalRun& run, const std::string& type,
                                          const std::string& reason, absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (true) {
    const auto job = run.Job();
    if (job.ok() && job->contains("status") && (*job)["status"].contains("conditions")) {
      for (const Json& condition : (*job)["status"]["conditions"]) {
        if (condition["type"] == type && condition.value("reason", "") == reason) {
          return condition.value("message", std::string());
        }
      }
    }
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(type, " did not become ", reason, ":\n",
                                                      job.ok() ? DumpJson(*job, 1) : "",
                                                      run.Output()));
    }
    poll(nullptr, 0, 20);
  }
}

}  // namespace muster::tests
