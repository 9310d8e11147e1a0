// usage: step_server CONFIG_JSON RANK WORLD STORE
//
// muster's side of the step benchmark: for each line on stdin, runs one training step of the engine
// on random tokens and prints its duration in seconds. Ranks find each other through the file
// STORE.endpoint.

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "tests/bench/random_feed.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/round_store.h"
#include "trainer/engine/engine.h"
#include "trainer/engine/phase_timer.h"
#include "trainer/engine/round_groups.h"
#include "trainer/engine/training_state.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "step_server: %s\n", value.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(value);
}

void OkOrDie(const absl::Status& status) { OrDie(status.ok() ? absl::StatusOr<int>(0) : status); }

// The groups of a round whose ranks divide one copy of the state, or none.
class Groups {
 public:
  // Rank 0 serves the store and writes its endpoint to a file.
  Groups(int rank, int world, bool divided, const std::string& store_file) {
    const std::string file = store_file + ".endpoint";
    if (rank == 0 && world > 1) {
      store_ = OrDie(StartRoundStore());
      OkOrDie(WriteFileAtomically(FileSystem(), file, store_->endpoint()));
    }
    while (world > 1 && !Exists(FileSystem(), file)) poll(nullptr, 0, 5);
    const std::string store = world > 1 ? OrDie(ReadFile(FileSystem(), file)) : "";
    world_ = Connect({.rank = rank, .size = world, .tag = "bench", .store = store});
    if (!divided) return;
    shard_ = Connect({.rank = rank, .size = world, .tag = "bench-shard", .store = store});
    replicas_ = Connect({.rank = 0, .size = 1, .tag = "bench-replicas"});
  }
  RoundGroups get() const { return {world_.get(), shard_.get(), replicas_.get()}; }

 private:
  static std::unique_ptr<Communicator> Connect(const GlooOptions& options) {
    return OrDie(MakeGlooCommunicator(options));
  }

  std::unique_ptr<RoundStore> store_;
  std::unique_ptr<Communicator> world_, shard_, replicas_;
};

void Serve(const Json& config, int rank, int world, const std::string& store) {
  const Json& shape = config.at("shape");
  planner::ModelShape model;
  model.layers = shape.at("layers");
  model.heads = shape.at("heads");
  model.width = shape.at("width");
  model.positions = shape.at("positions");
  model.vocabulary = shape.at("vocabulary");
  model.dropout = 0;
  TrainingOptions options;
  options.seed = 1;
  options.sequence = config.at("sequence");
  options.micro_batch = config.at("microBatch");
  options.micro_batches = config.at("globalBatch").get<int64_t>() / options.micro_batch;
  options.optimizer.make = &MakeAdamW;
  options.schedule = {.rate = &ConstantRate, .peak = 3e-4};
  const int zero = config.value("zero", 0);
  options.divided = {.values = zero >= 3, .gradients = zero >= 2};
  const Shard shard = zero > 0 ? Shard{rank, world} : Shard{};
  const auto state = OrDie(TrainingState::Create(OrDie(MakeModel(model)), options, shard));
  OkOrDie(state->InitializeFresh());
  RandomFeed feed(options, model.vocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  const Groups groups(rank, world, !shard.whole(), store);
  OkOrDie(engine.BeginAlone(groups.get()));
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    OrDie(engine.Step({}));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%.9f\n", seconds.count());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: step_server CONFIG_JSON RANK WORLD STORE\n");
    return 2;
  }
  at::set_num_threads(1);
  const auto config = muster::ParseJson(argv[1]);
  if (!config.ok()) {
    std::fprintf(stderr, "step_server: %s\n", config.status().ToString().c_str());
    return 2;
  }
  muster::trainer::Serve(*config, std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
  return 0;
}
