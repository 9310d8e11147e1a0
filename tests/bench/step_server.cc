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
#include "trainer/engine/training_state.h"
#include "trainer/model/families/model_factory.h"

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

// Connects the ranks. Rank 0 serves the store and writes its endpoint to a file.
std::unique_ptr<Communicator> Connect(int rank, int world, const std::string& store_file,
                                      std::unique_ptr<RoundStore>& store) {
  GlooOptions options{.rank = rank, .size = world, .tag = "bench"};
  const std::string file = store_file + ".endpoint";
  if (rank == 0 && world > 1) {
    store = OrDie(StartRoundStore());
    OkOrDie(WriteFileAtomically(FileSystem(), file, store->endpoint()));
  }
  while (world > 1 && !Exists(FileSystem(), file)) poll(nullptr, 0, 5);
  if (world > 1) options.store = OrDie(ReadFile(FileSystem(), file));
  return OrDie(MakeGlooCommunicator(options));
}

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
  options.schedule = {.kind = Schedule::Kind::kConstant, .peak = 3e-4};
  const auto state = OrDie(TrainingState::Create(OrDie(MakeModel(model)), options));
  state->InitializeFresh();
  RandomFeed feed(options, model.vocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  std::unique_ptr<RoundStore> round_store;
  const auto communicator = Connect(rank, world, store, round_store);
  OkOrDie(engine.BeginAlone(*communicator));
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
