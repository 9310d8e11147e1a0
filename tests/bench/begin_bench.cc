// usage: begin_bench FOLDER
//
// Measures what the first step of a large run waits for on one rank besides its peers: the task
// tables of a round of 1,024 ranks, made and checked, and the opening of a file of tokens in FOLDER
// by its size. The files have holes instead of tokens. Prints a JSON object.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "tests/bench/random_feed.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/data/dataset.h"
#include "trainer/data/tokens.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"

namespace muster::trainer {
namespace {

constexpr int kRanks = 1024, kShard = 8, kRepetitions = 21;

template <typename Function>
Json Milliseconds(int repetitions, const Function& function) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const absl::Time start = Clock::Real().Monotonic();
    function();
    times.push_back(absl::ToDoubleMilliseconds(Clock::Real().Monotonic() - start));
  }
  return times;
}

// Begins a round of many ranks although only this one exists: beginning it communicates nothing.
Json BeginRounds(int zero, int64_t micro_batches_per_rank, bool unequal) {
  const planner::ModelShape shape = planner::CompleteShape(
      {.layers = 126, .heads = 4, .width = 64, .positions = 32, .vocabulary = 256});
  TrainingOptions options;
  options.sequence = 32;
  options.micro_batch = 1;
  options.micro_batches = kRanks * micro_batches_per_rank + (unequal ? kRanks / 2 : 0);
  options.optimizer.make = &MakeAdamW;
  options.divided = {.values = zero >= 3, .gradients = zero >= 2};
  const auto state = OrDie(TrainingState::Create(OrDie(MakeModel(shape)), options));
  if (zero > 0) OkOrDie(state->Divide({1, kShard}));
  OkOrDie(state->InitializeFresh());
  auto world = MakeLocalCommunicators({.size = kRanks});
  auto shard = MakeLocalCommunicators({.size = kShard});
  auto replicas = MakeLocalCommunicators({.size = kRanks / kShard});
  RoundGroups groups{.world = world[1].get()};
  if (zero > 0) {
    groups.shard = shard[1].get();
    groups.replicas = replicas[0].get();
  }
  RandomFeed feed(options, shape.vocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  const std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  OkOrDie(engine.BeginAlone(groups));
  return Milliseconds(kRepetitions, [&] { OkOrDie(engine.BeginRound(groups)); });
}

// Opens a file of so many bytes as a trainer does, with the checksum that resumes are checked by.
Json OpenTokens(const std::string& folder, int64_t bytes) {
  const std::string path = JoinPath(folder, absl::StrCat("tokens-", bytes));
  OkOrDie(WriteFileAtomically(FileSystem(), path, std::string(4096, '\0')));
  if (truncate(path.c_str(), bytes) != 0) OkOrDie(absl::InternalError(path + ": cannot grow"));
  const Json times = Milliseconds(kRepetitions, [&] {
    const Dataset dataset =
        OrDie(OpenDataset(FileSystem(), {.path = path,
                                         .format = DatasetOptions::Format::kTokens,
                                         .validation = 0.01,
                                         .sequence = 4096}));
    if (TokensChecksum(dataset.training).empty()) std::abort();
  });
  OkOrDie(FileSystem().Remove(path));
  return times;
}

void Run(const std::string& folder) {
  Json rounds = Json::array(), files = Json::array();
  for (const int zero : {0, 3}) {
    for (const int64_t micro_batches : {1, 16}) {
      rounds.push_back({{"zero", zero},
                        {"microBatches", micro_batches},
                        {"ms", BeginRounds(zero, micro_batches, micro_batches > 1)}});
    }
  }
  for (const int64_t gigabytes : {1, 10, 100}) {
    files.push_back(
        {{"gigabytes", gigabytes}, {"ms", OpenTokens(folder, gigabytes * 1'000'000'000)}});
  }
  std::printf("%s\n", Json{{"ranks", kRanks}, {"rounds", rounds}, {"files", files}}.dump().c_str());
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: begin_bench FOLDER\n");
    return 2;
  }
  at::set_num_threads(1);
  muster::trainer::Run(argv[1]);
  return 0;
}
