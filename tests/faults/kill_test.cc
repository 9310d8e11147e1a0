// Kills each part of a real run at a seeded moment and asserts that it ends with the weights of an
// undisturbed run, byte for byte. MUSTER_FULL=1 runs 20 seeds of each kind instead of 2.

#include <poll.h>
#include <signal.h>

#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

constexpr int kSteps = 60;
constexpr absl::Duration kLong = absl::Seconds(120);

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: faults}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano, dropout: 0.1}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: 60, globalBatch: 8, microBatch: 2, sequence: 64, precision: fp32, deterministic: true, seed: 7}
    optimizer: {name: adamw, learningRate: 1.0e-3, schedule: cosine, warmupSteps: 10}
  checkpoint: {uri: $FOLDER/checkpoints, interval: {mode: Steps, steps: 25}}
  failurePolicy: {maxFailures: 10, window: 1h}
  elastic: {rankDeadline: 2s, stepDeadline: 10s}
)";

// Text of its own making, so that the test needs no corpus.
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

std::unique_ptr<LocalRun> NewRun(const std::string& name) {
  const std::string folder = FreshFolder(name);
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", Corpus()).ok());
  return std::make_unique<LocalRun>(folder, "faults", kManifest);
}

using Tensors = std::vector<std::pair<std::string, std::string>>;

Tensors FinalTensors(LocalRun& run) {
  const auto end = run.WaitForEnd(kLong);
  EXPECT_TRUE(end.ok()) << end.status();
  if (!end.ok()) return {};
  EXPECT_EQ(end->code, 0) << run.Output();
  const auto tensors = NewestTensors(run.Checkpoints());
  EXPECT_TRUE(tensors.ok()) << tensors.status() << run.Output();
  return tensors.value_or(Tensors());
}

class KillTest : public ::testing::TestWithParam<int> {
 protected:
  static const Tensors& Undisturbed() {
    static const Tensors* tensors = [] {
      auto run = NewRun("undisturbed");
      EXPECT_TRUE(run->Start().ok());
      return new Tensors(FinalTensors(*run));
    }();
    return *tensors;
  }

  // A run, stopped in its tracks at a moment drawn from the seed.
  std::unique_ptr<LocalRun> RunToTheMoment(const std::string& kind) {
    random_.seed(GetParam() * 1000003);
    auto run = NewRun(absl::StrCat(kind, "-", GetParam()));
    EXPECT_TRUE(run->Start().ok());
    const int step = std::uniform_int_distribution<int>(1, kSteps * 2 / 3)(random_);
    const absl::Status reached = run->WaitForStep(step, kLong);
    EXPECT_TRUE(reached.ok()) << reached;
    poll(nullptr, 0, std::uniform_int_distribution<int>(0, 25)(random_));
    return run;
  }

  pid_t Pick(const std::vector<pid_t>& pids) {
    return pids.empty() ? 0
                        : pids[std::uniform_int_distribution<size_t>(0, pids.size() - 1)(random_)];
  }

  void ExpectUndisturbedWeights(LocalRun& run) {
    const Tensors got = FinalTensors(run);
    const Tensors& want = Undisturbed();
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

  std::mt19937_64 random_;
};

TEST_P(KillTest, KilledTrainer) {
  auto run = RunToTheMoment("trainer");
  const pid_t victim = Pick(run->Trainers());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGKILL);
  ExpectUndisturbedWeights(*run);
}

TEST_P(KillTest, StoppedTrainer) {
  auto run = RunToTheMoment("stopped");
  const pid_t victim = Pick(run->Trainers());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGSTOP);
  ExpectUndisturbedWeights(*run);
}

TEST_P(KillTest, KilledAgent) {
  auto run = RunToTheMoment("agent");
  const pid_t victim = Pick(run->Agents());
  ASSERT_GT(victim, 0) << run->Output();
  kill(victim, SIGKILL);
  ExpectUndisturbedWeights(*run);
}

TEST_P(KillTest, KilledOperator) {
  auto run = RunToTheMoment("operator");
  run->Signal(SIGKILL);
  ASSERT_TRUE(run->WaitForEnd(kLong).ok());
  ASSERT_TRUE(run->Start().ok());
  ExpectUndisturbedWeights(*run);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KillTest,
                         ::testing::Range(1, std::getenv("MUSTER_FULL") != nullptr ? 21 : 3));

}  // namespace
}  // namespace muster::tests
