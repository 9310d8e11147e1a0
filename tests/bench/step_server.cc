// usage: step_server CONFIG_JSON RANK WORLD STORE
//
// muster's side of the step benchmark: for each line on stdin, runs one training step of the engine
// on random tokens and prints its duration in seconds. Ranks find each other through the file
// STORE.endpoint. device is cpu or cuda, precision fp32 or bf16; a duration ends when the device is
// done. Two lines mean something else:
//   memory      If the configuration says countMemory, is answered with the bytes of the state and
//               the peak of all tensors' since the first step, and with what the planner expects;
//               on a card, with the peak of all tensors' there since the last such line.
//   trace FILE  Runs tracedSteps steps (1), writes to FILE what they computed, when and for how
//               long, in the format of Chrome's trace viewer, and prints their duration.

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Context.h"
#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "planner/memory.h"
#include "planner/model_shape.h"
#include "tests/bench/counting_allocator.h"
#include "tests/bench/device_peak.h"
#include "tests/bench/or_die.h"
#include "tests/bench/random_feed.h"
#include "tests/bench/shape_json.h"
#include "tests/bench/step_trace.h"
#include "tests/gpu/use_device.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/comm/round_store.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

// The groups of a round in which so many neighbouring ranks divide one copy of the state.
class Groups {
 public:
  // Rank 0 serves the store and writes its endpoint to a file.
  Groups(int rank, int world, int shards, const std::string& store_file) {
    const std::string file = store_file + ".endpoint";
    if (rank == 0 && world > 1) {
      store_ = OrDie(StartRoundStore());
      OkOrDie(WriteFileAtomically(FileSystem(), file, store_->endpoint()));
    }
    while (world > 1 && !Exists(FileSystem(), file)) poll(nullptr, 0, 5);
    const std::string store = world > 1 ? OrDie(ReadFile(FileSystem(), file)) : "";
    world_ = Connect({.rank = rank, .size = world, .tag = "bench", .store = store});
    if (shards == 1) return;
    const MeshShape mesh{.data = world / shards, .shard = shards};
    shard_ = Join("shard", mesh.Group(rank, {MeshAxis::kShard}), rank, store);
    replicas_ = Join("replicas", mesh.Group(rank, {MeshAxis::kData}), rank, store);
  }
  RoundGroups get() const { return {world_.get(), shard_.get(), replicas_.get()}; }

 private:
  static std::unique_ptr<Communicator> Join(const std::string& name, const std::vector<int>& ranks,
                                            int rank, const std::string& store) {
    const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    return Connect({.rank = static_cast<int>(place),
                    .size = static_cast<int>(ranks.size()),
                    .tag = absl::StrCat("bench-", name, "-", ranks.front()),
                    .store = ranks.size() > 1 ? store : ""});
  }
  static std::unique_ptr<Communicator> Connect(const GlooOptions& options) {
    return OrDie(MakeGlooCommunicator(options));
  }

  std::unique_ptr<RoundStore> store_;
  std::unique_ptr<Communicator> world_, shard_, replicas_;
};

TrainingOptions OptionsOf(const Json& config, int zero) {
  TrainingOptions options;
  options.seed = 1;
  const bool bf16 = config.value("precision", "fp32") == "bf16";
  options.types = {at::kFloat, bf16 ? at::kBFloat16 : at::kFloat};
  options.sequence = config.at("sequence");
  options.micro_batch = config.at("microBatch");
  options.micro_batches = config.at("globalBatch").get<int64_t>() / options.micro_batch;
  options.optimizer.make = &MakeAdamW;
  options.schedule = {.rate = &ConstantRate, .peak = 3e-4};
  options.divided = {.values = zero >= 3, .gradients = zero >= 2};
  return options;
}

Json Memory(const planner::ModelShape& model, const TrainingOptions& options, int zero,
            const TrainingState& state, const CountingAllocator& counted) {
  int64_t values = 0, gradients = 0, optimizer = 0;
  for (size_t u = 0; u < state.units().size(); ++u) {
    const Unit& unit = state.units()[u];
    const auto bytes = [](const at::Tensor& tensor) {
      return static_cast<int64_t>(tensor.nbytes());
    };
    values += bytes(unit.divides_values() ? unit.held().values : unit.values());
    gradients += bytes(unit.divides_gradients() ? unit.held().gradients : unit.gradients());
    for (const at::Tensor& each : state.optimizer().state(static_cast<int>(u))) {
      optimizer += bytes(each);
    }
  }
  const planner::MemoryEstimate whole = planner::EstimateMemory(
      planner::CompleteShape(model), planner::Precision::kFp32,
      static_cast<int32_t>(options.micro_batch), static_cast<int32_t>(options.sequence),
      planner::OptimizerKind::kAdamW);
  const planner::MemoryEstimate expected = planner::DivideMemory(
      whole, planner::UnitSizesOf(planner::CompleteShape(model)), zero, state.shard().count);
  return {{"values", values},
          {"gradients", gradients},
          {"optimizer", optimizer},
          {"peak", counted.peak()},
          {"expected",
           {{"values", expected.parameters},
            {"gradients", expected.gradients},
            {"optimizer", expected.optimizer}}}};
}

void Print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Returns the seconds of some steps, to the device's end of the last one.
double Run(Engine& engine, const TrainingState& state, int steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) OrDie(engine.Step({}));
  if (!state.options().device.is_cpu()) state.units()[0].values().narrow(0, 0, 1).cpu();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Serve(const Json& config, int rank, int world, const std::string& store) {
  CountingAllocator* const counted =
      config.value("countMemory", false) ? &CountingAllocator::Install() : nullptr;
  const planner::ModelShape model = OrDie(ShapeOf(config.at("shape")));
  const int zero = config.value("zero", 0);
  TrainingOptions options = OptionsOf(config, zero);
  options.device = OrDie(UseDevice(config.value("device", "cpu")));
  at::globalContext().setAllowTF32CuBLAS(config.value("tf32", false));
  const int shards = zero > 0 ? config.value("shards", world) : 1;
  const Shard shard{rank % shards, shards};
  const auto state = OrDie(TrainingState::Create(OrDie(MakeModel(model)), options, shard));
  OkOrDie(state->InitializeFresh());
  RandomFeed feed(options, model.vocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  const Groups groups(rank, world, shards, store);
  OkOrDie(engine.BeginAlone(groups.get()));
  Print("ready");
  if (counted != nullptr) counted->ResetPeak();
  for (std::string line; std::getline(std::cin, line);) {
    absl::string_view trace = line;
    if (line == "memory" && counted != nullptr) {
      Print(Memory(model, options, zero, *state, *counted).dump());
    } else if (line == "memory") {
      Print(Json{{"peak", OrDie(TakeDevicePeak(options.device))}}.dump());
    } else if (absl::ConsumePrefix(&trace, "trace ")) {
      auto recorded = std::make_unique<StepTrace>(std::string(trace));
      const double seconds = Run(engine, *state, config.value("tracedSteps", 1));
      recorded.reset();  // the file is whole when the duration is read
      Print(absl::StrFormat("%.9f", seconds));
    } else {
      Print(absl::StrFormat("%.9f", Run(engine, *state, 1)));
    }
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
