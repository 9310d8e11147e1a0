// usage: dump_run DIR PRECISION OPTIMIZER RANKS FAMILY SHARD ZERO [WEIGHTS] [--offload=SCRATCH]
//        dump_run DIR PRECISION OPTIMIZER 1 FAMILY 1 0 [WEIGHTS] --device=cuda
//        dump_run DIR PRECISION OPTIMIZER RANKS torchscript SHARD ZERO FILE
//
// Trains the toy of the family on ranks that are threads. Every SHARD ranks divide one copy of the
// state among themselves, as ZeRO stage ZERO says. The initial weights are random, or those of the
// directory WEIGHTS, in the format of Hugging Face. With SCRATCH, the optimizer's state, and under
// ZeRO 3 the weights, rest in files in that folder. With --device=cuda one rank trains on a card;
// the precision tf32 is fp32 whose matrix products a card may round to TF32. Writes what parity.py
// needs to repeat the run: run.json, initial weights, every token, the gradients of the first and
// last step before clipping, final weights, and their logits of the tokens after the first step's
// sequences. A model of TorchScript is the one in FILE, and has no logits.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "ATen/Parallel.h"
#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "tests/gpu/use_device.h"
#include "tests/parity/run_files.h"
#include "tests/parity/toy_run.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/torchscript/script_model.h"
#include "trainer/offload/directory_state_files.h"
#include "trainer/process/pretrained_initial_weights.h"
#include "trainer/process/script_initial_weights.h"

namespace muster::trainer {
namespace {

void Write(const std::string& path, const std::vector<NamedTensor>& tensors) {
  OkOrDie(WriteTensors(path, tensors));
}

std::string Named(const std::string& folder, const std::string& file) {
  return JoinPath(folder, file + ".safetensors");
}

// The model that is trained, and where its first weights are.
struct Subject {
  planner::ModelShape shape;
  std::string weights;  // a directory; empty: random ones
  std::string script;   // a file of TorchScript, instead of both

  Model Make(c10::ScalarType type) const {
    return OrDie(script.empty() ? MakeModel(shape) : LoadScriptModel(FileSystem(), script, type));
  }
  // Loads the first weights unless they are random.
  void Load(TrainingState& state) const {
    std::unique_ptr<InitialWeights> initial;
    if (!script.empty()) {
      const auto type = state.options().types.parameters;
      initial = std::make_unique<ScriptInitialWeights>(FileSystem(), script, type);
    } else if (!weights.empty()) {
      initial = std::make_unique<PretrainedInitialWeights>(FileSystem(), weights, state.model(),
                                                           "dump_run's");
    }
    if (initial != nullptr) OkOrDie(LoadInitialWeights(*initial, state));
  }
};

struct Curve {
  std::vector<double> losses, norms;
};

// Writes the logits, [kToyBatch, kToyVocabulary], of the tokens after the first step's sequences.
void WriteLogits(const std::string& folder, const TrainingState& state) {
  const at::NoGradGuard no_gradients;
  GrammarFeed feed(kToyBatch);
  MicroBatchContext context;
  context.training = false;
  context.compute_type = state.options().types.parameters;
  const c10::Device device = state.options().device;
  context.tokens = OrDie(feed.Training({})).tokens.to(device);
  context.positions = at::arange(kToySequence, at::TensorOptions(device).dtype(at::kLong));
  std::vector<at::Tensor> x;
  for (const auto& block : state.model().blocks) x = block->Forward(std::move(x), context).tensors;
  Write(Named(folder, "logits"), {{"logits", x[0]}});
}

// Writes the values, which all ranks of the shard group gather for it.
void WriteValues(const std::string& folder, const std::string& file, const RoundGroups& groups,
                 TrainingState& state) {
  const auto alone = MakeLocalCommunicators({});
  if (groups.shard != nullptr || state.divides_values()) {
    OkOrDie(GatherValues(groups.shard == nullptr ? *alone[0] : *groups.shard, state));
  }
  if (!folder.empty()) Write(Named(folder, file), state.Parameters());
}

// Writes the gradients of the mean loss over a step's valid tokens.
void WriteGradients(const std::string& folder, int64_t step, const TrainingState& state) {
  if (folder.empty()) return;
  GrammarFeed feed(kToyBatch);
  const MicroBatch batch = OrDie(feed.Training({.consumed = (step - 1) * kToyBatch}));
  const double to_mean = static_cast<double>(state.options().nominal_tokens()) /
                         static_cast<double>(CountValid(batch.labels));
  std::vector<NamedTensor> gradients = state.Gradients();
  for (NamedTensor& gradient : gradients) gradient.tensor = gradient.tensor.mul(to_mean);
  Write(Named(folder, absl::StrCat("gradients-", step)), gradients);
}

// Trains one rank. With a non-empty folder it also writes weights and gradients there.
Curve TrainRank(const Subject& subject, const TrainingOptions& options, const RoundGroups& groups,
                const std::string& folder) {
  DirectoryStateFiles files(FileSystem());
  const auto state =
      OrDie(TrainingState::Create(subject.Make(options.types.parameters), options, {}, &files));
  if (groups.shard != nullptr) {
    OkOrDie(state->Divide({groups.shard->rank(), groups.shard->size()}));
  }
  OkOrDie(state->InitializeFresh());
  subject.Load(*state);
  WriteValues(folder, "initial", groups, *state);
  for (const Unit& unit : state->units()) unit.ReleaseValues();
  GrammarFeed feed(options.micro_batch);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  const std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  OkOrDie(engine.BeginAlone(groups));
  Curve curve;
  for (int64_t step = 1; step <= kToySteps; ++step) {
    if (step == 1 || step == kToySteps) {
      OkOrDie(engine.ComputeGradients());
      WriteGradients(folder, step, *state);
    }
    const StepOutcome outcome = OrDie(engine.Step({}));
    curve.losses.push_back(outcome.decision.loss());
    curve.norms.push_back(outcome.decision.gradient_norm());
  }
  WriteValues(folder, "final", groups, *state);
  if (!folder.empty() && subject.script.empty()) WriteLogits(folder, *state);
  return curve;
}

// Trains all ranks and returns the curve of rank 0.
Curve Train(const Subject& subject, const TrainingOptions& options, const MeshShape& mesh,
            const std::string& folder) {
  LocalGroups groups(mesh);
  std::vector<std::thread> others;
  for (int rank = 1; rank < mesh.size(); ++rank) {
    others.emplace_back([&, rank] { TrainRank(subject, options, groups.Of(rank), ""); });
  }
  Curve curve = TrainRank(subject, options, groups.Of(0), folder);
  for (std::thread& other : others) other.join();
  return curve;
}

void WriteTokens(const std::string& folder) {
  GrammarFeed feed(kToyBatch);
  at::Tensor tokens = at::empty({kToySteps, kToyBatch, kToySequence}, at::kLong);
  at::Tensor labels = at::empty({kToySteps, kToyBatch, kToySequence}, at::kLong);
  for (int64_t step = 1; step <= kToySteps; ++step) {
    const MicroBatch batch = OrDie(feed.Training({.consumed = (step - 1) * kToyBatch}));
    tokens.select(0, step - 1).copy_(batch.tokens);
    labels.select(0, step - 1).copy_(batch.labels);
  }
  Write(Named(folder, "tokens"), {{"tokens", tokens}, {"labels", labels}});
}

void WriteRun(const std::string& folder, const ToyRun& run, const Subject& subject,
              const TrainingOptions& o, const Curve& curve) {
  const Model model = subject.Make(o.types.parameters);
  const Json json = {{"precision", run.precision},
                     {"steps", kToySteps},
                     {"losses", curve.losses},
                     {"gradientNorms", curve.norms},
                     {"config", OrDie(ParseJson(model.config_json))},
                     {"script", subject.script},
                     {"optimizer", OptimizerJson(run.optimizer, o)}};
  OkOrDie(WriteFileAtomically(FileSystem(), JoinPath(folder, "run.json"), json.dump()));
}

// One rank runs a step as one micro-batch; several ranks share one micro-batch per sentence.
void Dump(const std::string& folder, const ToyRun& run, const MeshShape& mesh, int zero,
          const Subject& subject, const std::string& scratch, const std::string& device) {
  TrainingOptions options = ToyOptions(run, mesh.size() == 1 ? 1 : kToyBatch);
  options.device = OrDie(UseDevice(device));
  at::globalContext().setAllowTF32CuBLAS(run.precision == "tf32");
  options.divided = {.values = zero >= 3, .gradients = zero >= 2};
  if (!scratch.empty()) {
    options.offload = {.optimizer = true, .weights = zero >= 3, .directory = scratch};
  }
  OkOrDie(FileSystem().MakeDirectories(folder));
  const Curve curve = Train(subject, options, mesh, folder);
  WriteTokens(folder);
  WriteRun(folder, run, subject, options, curve);
}

}  // namespace
}  // namespace muster::trainer

int Usage() {
  std::fprintf(stderr,
               "usage: dump_run DIR fp64|fp32|tf32|bf16|fp16|fp8 adamw|sgd RANKS gpt2|llama|bloom "
               "SHARD 0|1|2|3 "
               "[WEIGHTS], or torchscript SHARD 0|1|2|3 FILE [--offload=SCRATCH], or with 1 rank "
               "[--device=cuda]\n");
  return 2;
}

int main(int argc, char** argv) {
  constexpr absl::string_view kOffload = "--offload=", kDevice = "--device=";
  int ranks = 0, shard = 0, zero = 0;
  std::string scratch, device = "cpu";
  if (absl::StartsWith(argv[argc - 1], kDevice)) device = argv[--argc] + kDevice.size();
  if (absl::StartsWith(argv[argc - 1], kOffload)) scratch = argv[--argc] + kOffload.size();
  if (argc < 8 || argc > 9 || !absl::SimpleAtoi(argv[4], &ranks) ||
      !absl::SimpleAtoi(argv[6], &shard) || !absl::SimpleAtoi(argv[7], &zero) || ranks < 1 ||
      shard < 1 || ranks % shard != 0 || zero < 0 || zero > 3 || (device != "cpu" && ranks > 1)) {
    return Usage();
  }
  at::set_num_threads(1);
  const std::string path = argc == 9 ? argv[8] : "";
  muster::trainer::ToyRun run{.precision = argv[2], .optimizer = argv[3]};
  muster::trainer::Subject subject;
  if (std::string(argv[5]) == "torchscript") {
    subject.script = path;
  } else {
    const auto family = muster::planner::ParseModelFamily(argv[5]);
    if (!family.ok()) return Usage();
    run.family = *family;
    subject = {.shape = muster::trainer::ToyShape(*family), .weights = path};
  }
  muster::trainer::Dump(argv[1], run, {.data = ranks / shard, .shard = shard}, zero, subject,
                        scratch, device);
  return 0;
}
