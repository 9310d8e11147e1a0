// usage: checkpoint_bench DIRECTORY [RANK_CORE WRITER_CORE]
//
// Measures how much an asynchronous checkpoint slows training. One rank, pinned to a core, takes
// steps; saves are copied and written on another core. A save with the steps that overlap it
// alternates with as many undisturbed steps. "copy" is the time for which a save stops the steps;
// the copy itself is taken while the next one computes, and belongs to the steps that overlap.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "tests/bench/random_feed.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

struct Case {
  const char* name;
  planner::ModelShape model;
  int64_t batch, sequence;
  int pairs;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Seconds(absl::Time since) {
  return absl::ToDoubleSeconds(Clock::Real().Monotonic() - since);
}

// Ends the program on a failed save; keeps the duration of the last one.
class WriterReports final : public Outbox {
 public:
  void Send(const v1alpha1::FromTrainer& message) override {
    const v1alpha1::CheckpointReport& report = message.checkpoint();
    if (report.phase() == v1alpha1::CheckpointReport::FAILED) {
      OkOrDie(absl::InternalError(report.error()));
    }
    if (report.phase() == v1alpha1::CheckpointReport::WRITTEN) seconds_ = report.seconds();
  }
  double seconds() const { return seconds_; }

 private:
  std::atomic<double> seconds_ = 0;
};

// A rank with its checkpoint store.
class Rank {
 public:
  Rank(const Case& c, const std::string& directory, int writer_core)
      : options_(Options(c)),
        state_(OrDie(TrainingState::Create(OrDie(MakeModel(c.model)), options_))),
        feed_(options_, c.model.vocabulary),
        store_(FileSystem(), Clock::Real(), directory, 2,
               {.job = "bench", .vocabulary = c.model.vocabulary}, reports_, writer_core) {
    OkOrDie(state_->InitializeFresh());
    state_->OnChange([this] { store_.FinishCopy(); });
    communicator_ = OrDie(MakeGlooCommunicator({.rank = 0, .size = 1, .tag = "bench"}));
    OkOrDie(engine_->BeginAlone(*communicator_));
  }

  double Step() {
    const absl::Time start = Clock::Real().Monotonic();
    OrDie(engine_->Step({}));
    return Seconds(start);
  }
  double Save() {
    const absl::Time start = Clock::Real().Monotonic();
    OkOrDie(store_.Save(*state_, {}));
    return Seconds(start);
  }
  // Announces the state to the store, as a trainer does when its round begins.
  void Expect() { store_.Expect(*state_, {}); }
  bool Writes() { return !store_.WaitIdle(absl::ZeroDuration()); }
  double write_seconds() const { return reports_.seconds(); }
  double gigabytes() const {
    double bytes = 0;
    for (const NamedTensor& t : state_->Parameters())
      bytes += static_cast<double>(t.tensor.nbytes());
    for (const TensorPart& part : state_->OptimizerParts()) {
      bytes += static_cast<double>(part.elements.nbytes());
    }
    return bytes / 1e9;
  }

 private:
  static TrainingOptions Options(const Case& c) {
    TrainingOptions options;
    options.seed = 1;
    options.sequence = c.sequence;
    options.micro_batch = c.batch;
    options.micro_batches = 1;
    options.optimizer.make = &MakeAdamW;
    options.schedule = {.rate = &ConstantRate, .peak = 3e-4};
    return options;
  }

  const TrainingOptions options_;
  std::unique_ptr<TrainingState> state_;
  RandomFeed feed_;
  PhaseTimer timer_{Clock::Real(), Phase::kOther};
  std::atomic<bool> interrupt_ = false;
  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>(*state_, feed_, timer_, interrupt_);
  std::unique_ptr<Communicator> communicator_;
  WriterReports reports_;
  CheckpointStore store_;
};

void RunCase(const Case& c, const std::string& directory, int writer_core) {
  Rank rank(c, directory, writer_core);
  rank.Expect();
  for (int i = 0; i < 4; ++i) rank.Step();
  const double first_copy = rank.Save();
  while (rank.Writes()) rank.Step();
  std::vector<double> copies, writes, overlapped, calm, ratios, with_copy;
  size_t steps = 0;
  for (int i = 0; i < c.pairs; ++i) {
    copies.push_back(rank.Save());
    double busy = 0, undisturbed = 0;
    int taken = 0;
    for (; rank.Writes(); ++taken) {
      overlapped.push_back(rank.Step());
      busy += overlapped.back();
    }
    for (int j = 0; j < taken; ++j) {
      calm.push_back(rank.Step());
      undisturbed += calm.back();
    }
    writes.push_back(rank.write_seconds());
    ratios.push_back(busy / undisturbed);
    with_copy.push_back((busy + copies.back()) / undisturbed);
    steps += static_cast<size_t>(taken);
  }
  std::printf("%-5s %8.3f %5d %6.1f %8.2f %9.1f %9.1f %7.3f %6.3f..%-6.3f %7.3f %9.1f %8.1f\n",
              c.name, rank.gigabytes(), c.pairs, static_cast<double>(steps) / c.pairs,
              Median(writes), Median(calm) * 1e3, Median(overlapped) * 1e3, Median(ratios),
              *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()), Median(with_copy), first_copy * 1e3,
              Median(copies) * 1e3);
  std::fflush(stdout);
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  using muster::trainer::Case;
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: checkpoint_bench DIRECTORY [RANK_CORE WRITER_CORE]\n");
    return 2;
  }
  const int rank_core = argc > 2 ? std::atoi(argv[2]) : 0;
  const int writer_core = argc > 3 ? std::atoi(argv[3]) : 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(rank_core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    std::perror("checkpoint_bench: pinning to a core");
    return 1;
  }
  at::set_num_threads(1);
  std::printf(
      "rank on core %d, writer on core %d; FP32, 1 rank; medians. Ratio: the steps that overlap a\n"
      "save against as many undisturbed ones right after it; the target is at most 1.02.\n\n",
      rank_core, writer_core);
  std::printf("%-5s %8s %5s %6s %8s %9s %9s %7s %14s %7s %9s %8s\n", "", "save", "saves", "steps",
              "written", "step", "step", "", "", "with", "first", "copy");
  std::printf("%-5s %8s %5s %6s %8s %9s %9s %7s %14s %7s %9s %8s\n", "model", "GB", "", "each",
              "in s", "calm ms", "saving ms", "ratio", "least..most", "copy", "copy ms", "ms");
  muster::planner::ModelShape small{
      .layers = 6, .heads = 6, .width = 384, .positions = 256, .vocabulary = 512, .dropout = 0};
  muster::planner::ModelShape large{.layers = 12,
                                    .heads = 12,
                                    .width = 768,
                                    .positions = 1024,
                                    .vocabulary = 50304,
                                    .dropout = 0};
  const std::string directory = argv[1];
  muster::trainer::RunCase({"10M", small, 4, 128, 8}, directory + "/10M", writer_core);
  muster::trainer::RunCase({"124M", large, 2, 64, 4}, directory + "/124M", writer_core);
  return 0;
}
