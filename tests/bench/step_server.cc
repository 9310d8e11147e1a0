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
#include <numeric>
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
#include "trainer/engine/link/round_mesh.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/sequence_order.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"
#include "trainer/parallel/stages.h"

namespace muster::trainer {
namespace {

// The groups of a layout, which meet in a store of rank 0.
class Groups {
 public:
  // Rank 0 serves the store and writes its endpoint to a file.
  Groups(const MeshShape& shape, int rank, const std::string& store_file) {
    const std::string file = store_file + ".endpoint";
    const int world = shape.size();
    if (rank == 0 && world > 1) {
      store_ = OrDie(StartRoundStore());
      OkOrDie(WriteFileAtomically(FileSystem(), file, store_->endpoint()));
    }
    while (world > 1 && !Exists(FileSystem(), file)) poll(nullptr, 0, 5);
    const std::string store = world > 1 ? OrDie(ReadFile(FileSystem(), file)) : "";
    const auto connect = [&](const std::string& tag, const std::vector<int>& ranks, int own) {
      const auto place = std::find(ranks.begin(), ranks.end(), own) - ranks.begin();
      return MakeGlooCommunicator({.rank = static_cast<int>(place),
                                   .size = static_cast<int>(ranks.size()),
                                   .tag = absl::StrCat("bench-", tag),
                                   .store = ranks.size() > 1 ? store : ""});
    };
    std::vector<int> all(static_cast<size_t>(world));
    std::iota(all.begin(), all.end(), 0);
    world_ = OrDie(connect("world", all, rank));
    mesh_ = std::make_unique<Mesh>(OrDie(Mesh::Create(shape, *world_, connect)));
    groups_ = OrDie(MakeGroups(*mesh_, *world_));
  }
  RoundGroups get() const { return groups_; }

 private:
  std::unique_ptr<RoundStore> store_;
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<Mesh> mesh_;
  RoundGroups groups_;
};

// Returns the layout that the configuration asks for: `shards` ranks divide the state with zero,
// and the axes are tensor, pipeline and context.
MeshShape MeshOf(const Json& config, int world) {
  MeshShape mesh{.pipeline = config.value("pipeline", 1),
                 .context = config.value("context", 1),
                 .tensor = config.value("tensor", 1)};
  const int workers = world / mesh.size();
  mesh.shard = config.value("zero", 0) > 0 ? config.value("shards", workers) : 1;
  mesh.data = workers / mesh.shard;
  OkOrDie(mesh.Check(world));
  return mesh;
}

TrainingOptions OptionsOf(const Json& config, const MeshShape& mesh) {
  const int zero = config.value("zero", 0);
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
  options.parts = mesh.tensor;
  options.stages = mesh.pipeline;
  if (config.value("ring", false)) options.context_exchange = ContextExchange::kRing;
  options.chunks = config.value("chunks", 1);
  if (options.chunks > 1) options.pipeline_schedule = PipelineSchedule::kInterleaved;
  options.activations.recompute_every = config.value("recomputeEvery", 0);
  const std::string compress = config.value("compress", "None");
  if (compress == "BF16") options.activations.format = planner::SavedFormat::kBf16;
  if (compress == "INT8") options.activations.format = planner::SavedFormat::kInt8;
  if (config.value("zeroBubble", false)) options.pipeline_schedule = PipelineSchedule::kZeroBubble;
  return options;
}

Json Memory(const planner::ModelShape& model, const MeshShape& mesh, int zero,
            const TrainingState& state, const CountingAllocator& counted) {
  const TrainingOptions& options = state.options();
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
  const planner::ModelShape shape = planner::CompleteShape(model);
  const planner::WorkDivision division{.tensor = mesh.tensor,
                                       .stages = mesh.pipeline,
                                       .chunks = options.chunks,
                                       .context = mesh.context,
                                       .ring = options.context_exchange == ContextExchange::kRing,
                                       .activations = options.activations};
  const planner::MemoryEstimate whole = planner::EstimateMemory(
      shape, planner::Precision::kFp32, static_cast<int32_t>(options.micro_batch),
      static_cast<int32_t>(options.sequence), planner::OptimizerKind::kAdamW,
      planner::LogitsPlace::kCpu, division);
  const planner::MemoryEstimate expected = planner::DivideMemory(
      whole, planner::UnitSizesOf(shape, division), zero, state.shard().count);
  return {{"values", values},
          {"gradients", gradients},
          {"optimizer", optimizer},
          {"peak", counted.peak()},
          {"expected",
           {{"values", expected.parameters},
            {"gradients", expected.gradients},
            {"optimizer", expected.optimizer},
            {"step", expected.activations + expected.logits}}}};
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
  const MeshShape mesh = MeshOf(config, world);
  TrainingOptions options = OptionsOf(config, mesh);
  options.device = OrDie(UseDevice(config.value("device", "cpu")));
  at::globalContext().setAllowTF32CuBLAS(config.value("tf32", false));
  const MeshCoordinates at = mesh.CoordinatesOf(rank);
  const auto state =
      OrDie(TrainingState::Create(OrDie(MakeModel(model)), options, {at.shard, mesh.shard},
                                  /*files=*/nullptr, at.tensor, at.pipeline));
  OkOrDie(state->InitializeFresh());
  RandomFeed feed(options, model.vocabulary);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  const Groups groups(mesh, rank, store);
  OkOrDie(engine.BeginAlone(groups.get()));
  Print("ready");
  if (counted != nullptr) counted->ResetPeak();
  for (std::string line; std::getline(std::cin, line);) {
    absl::string_view trace = line;
    if (line == "memory" && counted != nullptr) {
      Print(Memory(model, mesh, zero, *state, *counted).dump());
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
