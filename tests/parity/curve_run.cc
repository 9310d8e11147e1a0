// usage: curve_run DIR CONFIG_JSON
//
// Trains a model on sentences of a small grammar, and writes to DIR what curve.py needs to repeat
// it: run.json with the loss of every step, initial weights, and every token. The configuration is
// {shape, sequence, microBatch, steps, symbols}: a shape as step_server's, tokens of a sequence,
// sequences of a step, steps, and how many tokens of the vocabulary the grammar has; device is cpu
// or cuda, precision fp32, bf16 or fp16.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/ops/empty.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "tests/bench/shape_json.h"
#include "tests/gpu/use_device.h"
#include "tests/parity/run_files.h"
#include "tests/parity/toy_run.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

TrainingOptions OptionsOf(const Json& config) {
  TrainingOptions options;
  const std::string precision = config.value("precision", "fp32");
  options.types.compute = precision == "bf16"   ? at::kBFloat16
                          : precision == "fp16" ? at::kHalf
                                                : at::kFloat;
  options.seed = 3;
  options.sequence = config.at("sequence");
  options.micro_batch = config.at("microBatch");
  options.micro_batches = 1;
  options.optimizer.make = &MakeAdamW;
  const int64_t steps = config.at("steps");
  options.schedule = {.rate = &CosineRate,
                      .peak = 6e-4,
                      .warmup_steps = steps / 10,
                      .steps = steps,
                      .final_fraction = 0.1};
  return options;
}

GrammarFeed FeedOf(const Json& config) {
  return GrammarFeed(config.at("microBatch"), config.at("sequence"), config.at("symbols"));
}

std::string Named(const std::string& folder, const std::string& file) {
  return JoinPath(folder, file + ".safetensors");
}

std::vector<double> Train(const Json& config, const TrainingOptions& options, Model model,
                          const std::string& folder) {
  const auto state = OrDie(TrainingState::Create(std::move(model), options));
  OkOrDie(state->InitializeFresh());
  OkOrDie(WriteTensors(Named(folder, "initial"), state->Parameters()));
  GrammarFeed feed = FeedOf(config);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  const std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  const auto alone = MakeLocalCommunicators({});
  OkOrDie(engine.BeginAlone(*alone[0]));
  std::vector<double> losses;
  for (int64_t step = 1; step <= options.schedule.steps; ++step) {
    losses.push_back(OrDie(engine.Step({})).decision.loss());
  }
  return losses;
}

void WriteTokens(const Json& config, const TrainingOptions& options, const std::string& folder) {
  GrammarFeed feed = FeedOf(config);
  const int64_t rows = options.micro_batch, steps = options.schedule.steps;
  at::Tensor tokens = at::empty({steps, rows, options.sequence}, at::kLong);
  at::Tensor labels = at::empty(tokens.sizes(), at::kLong);
  for (int64_t step = 0; step < steps; ++step) {
    const MicroBatch batch = OrDie(feed.Training({.consumed = step * rows}));
    tokens.select(0, step).copy_(batch.tokens);
    labels.select(0, step).copy_(batch.labels);
  }
  OkOrDie(WriteTensors(Named(folder, "tokens"), {{"tokens", tokens}, {"labels", labels}}));
}

void Run(const std::string& folder, const Json& config) {
  const planner::ModelShape shape = OrDie(ShapeOf(config.at("shape")));
  TrainingOptions options = OptionsOf(config);
  options.device = OrDie(UseDevice(config.value("device", "cpu")));
  OkOrDie(FileSystem().MakeDirectories(folder));
  WriteTokens(config, options, folder);
  Model model = OrDie(MakeModel(shape));
  Json run = {{"precision", config.value("precision", "fp32")},
              {"steps", options.schedule.steps},
              {"config", OrDie(ParseJson(model.config_json))},
              {"script", ""},
              {"optimizer", OptimizerJson("adamw", options)}};
  run["losses"] = Train(config, options, std::move(model), folder);
  OkOrDie(WriteFileAtomically(FileSystem(), JoinPath(folder, "run.json"), DumpJson(run)));
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: curve_run DIR CONFIG_JSON\n");
    return 2;
  }
  at::set_num_threads(1);
  const auto config = muster::ParseJson(argv[2]);
  if (!config.ok()) {
    std::fprintf(stderr, "curve_run: %s\n", config.status().ToString().c_str());
    return 2;
  }
  muster::trainer::Run(argv[1], *config);
  return 0;
}
