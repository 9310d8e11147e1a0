#include "tests/parity/matrix/curve.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "ATen/ops/empty.h"
#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"
#include "trainer/model/partition.h"
#include "trainer/offload/memory_state_files.h"

namespace muster::trainer {
namespace {

Tensors ClonesOf(const std::vector<NamedTensor>& tensors) {
  Tensors clones;
  for (const NamedTensor& named : tensors) clones[named.name] = named.tensor.detach().clone();
  return clones;
}

// Gathers the values, which all ranks of the shard group do, and copies them.
absl::StatusOr<Tensors> CopyValues(const RoundGroups& groups, TrainingState& state) {
  if (groups.shard != nullptr) MUSTER_RETURN_IF_ERROR(GatherValues(*groups.shard, state));
  Tensors copy = ClonesOf(state.Parameters());
  for (const Unit& unit : state.units()) unit.ReleaseValues();
  return copy;
}

absl::StatusOr<Curve> TrainRank(const ToyRun& run, const MatrixRow& row, int64_t steps, int rank,
                                const RoundGroups& groups) {
  TrainingOptions options = ToyOptions(run, row.micro_batches);
  options.divided = row.divided();
  options.offload = row.offload();
  options.parts = row.tensor;
  options.stages = row.pipeline;
  options.context_exchange = row.exchange;
  options.pipeline_schedule = row.schedule;
  options.chunks = row.chunks();
  options.activations = row.activations;
  const CopyPlace place = PlaceOf(row.mesh(), rank);
  MemoryStateFiles disk;
  MUSTER_ASSIGN_OR_RETURN(Model model, MakeModel(ToyShape(run.family)));
  MUSTER_ASSIGN_OR_RETURN(const auto state,
                          TrainingState::Create(std::move(model), options, place.shard, &disk,
                                                place.part.index, place.stage.index));
  MUSTER_RETURN_IF_ERROR(state->InitializeFresh());
  Curve curve;
  MUSTER_ASSIGN_OR_RETURN(curve.weights[0], CopyValues(groups, *state));
  GrammarFeed feed(options.micro_batch);
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  const std::atomic<bool> interrupt = false;
  Engine engine(*state, feed, timer, interrupt);
  MUSTER_RETURN_IF_ERROR(engine.BeginAlone(groups));
  for (int64_t step = 1; step <= steps; ++step) {
    const bool compared = step == 1 || step == kComparedSteps;
    if (compared) {
      MUSTER_RETURN_IF_ERROR(engine.ComputeGradients());
      curve.gradients[step] = ClonesOf(state->Gradients());
    }
    MUSTER_ASSIGN_OR_RETURN(const StepOutcome outcome, engine.Step({}));
    curve.losses.push_back(outcome.decision.loss());
    curve.norms.push_back(outcome.decision.gradient_norm());
    if (!compared && step != steps) continue;
    MUSTER_ASSIGN_OR_RETURN(curve.weights[step], CopyValues(groups, *state));
  }
  return curve;
}

// Adds the tensors of a stage, as a whole, from those of the ranks that divide it.
void PutTogether(const std::vector<Tensors>& of_ranks, const Model& model, Tensors& whole) {
  const int count = static_cast<int>(of_ranks.size());
  for (const auto& block : model.blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      const auto first = of_ranks[0].find(spec.name);
      if (first == of_ranks[0].end()) continue;
      const bool divided = IsDivided(spec.partition, {0, count});
      at::Tensor& tensor = whole[spec.name];
      tensor = divided ? at::empty(spec.shape, first->second.options()) : first->second;
      for (int rank = 0; divided && rank < count; ++rank) {
        const at::Tensor part = of_ranks[static_cast<size_t>(rank)].at(spec.name).reshape({-1});
        int64_t taken = 0;
        for (const ElementRun& run : RunsOfPart(spec.shape, spec.partition, {rank, count})) {
          tensor.view({-1}).narrow(0, run.begin, run.count).copy_(part.narrow(0, taken, run.count));
          taken += run.count;
        }
      }
    }
  }
}

// Returns the curve of the whole model, as ranks that together have all of it saw it: by stage, and
// in each by part.
absl::StatusOr<Curve> WholeCurve(const ToyRun& run, const std::vector<std::vector<Curve>>& seen) {
  MUSTER_ASSIGN_OR_RETURN(const Model model, MakeModel(ToyShape(run.family)));
  Curve whole{.losses = seen[0][0].losses, .norms = seen[0][0].norms};
  for (const auto of_curve : {&Curve::gradients, &Curve::weights}) {
    for (const auto& [step, first] : seen[0][0].*of_curve) {
      Tensors tensors;
      for (const std::vector<Curve>& of_stage : seen) {
        std::vector<Tensors> parts;
        for (const Curve& curve : of_stage) parts.push_back((curve.*of_curve).at(step));
        PutTogether(parts, model, tensors);
      }
      std::vector<NamedTensor> named;
      for (const auto& [name, tensor] : tensors) named.push_back({name, tensor});
      (whole.*of_curve)[step] = CopyOf(named, run);
    }
  }
  return whole;
}

// Returns a copy of a tensor, with zeros for the biases of attention's keys.
at::Tensor WithoutKeyBias(const std::string& name, const at::Tensor& tensor, int64_t heads) {
  if (absl::EndsWith(name, "attn.c_attn.bias")) {
    const int64_t third = tensor.numel() / 3;
    at::Tensor rest = tensor.detach().clone();
    rest.narrow(0, third, third).zero_();
    return rest;
  }
  if (absl::EndsWith(name, "self_attention.query_key_value.bias")) {
    at::Tensor rest = tensor.detach().clone();
    rest.view({heads, 3, -1}).select(1, 1).zero_();
    return rest;
  }
  return tensor.detach().clone();
}

}  // namespace

Tensors CopyOf(const std::vector<NamedTensor>& tensors, const ToyRun& run) {
  const int64_t heads = ToyShape(run.family).heads;
  Tensors copy;
  for (const NamedTensor& named : tensors) {
    copy[named.name] = WithoutKeyBias(named.name, named.tensor, heads);
  }
  return copy;
}

absl::StatusOr<Curve> TrainCurve(const ToyRun& run, const MatrixRow& row, int64_t steps) {
  const MeshShape mesh = row.mesh();
  LocalGroups groups(mesh);
  std::vector<absl::StatusOr<Curve>> curves(static_cast<size_t>(mesh.size()),
                                            absl::UnknownError("not trained"));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const RoundGroups of_rank = groups.Of(rank);
      auto& curve = curves[static_cast<size_t>(rank)];
      curve = TrainRank(run, row, steps, rank, of_rank);
      if (curve.ok()) return;
      for (Communicator* group :
           {of_rank.world, of_rank.shard, of_rank.replicas, of_rank.axes.tensor,
            of_rank.axes.context, of_rank.sequence, of_rank.workers, of_rank.whole_replicas,
            of_rank.stages, of_rank.ends, of_rank.ends_replicas, of_rank.ends_whole_replicas}) {
        if (group != nullptr) group->Abort("a rank failed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& curve : curves) {
    if (!curve.ok() && !absl::IsUnavailable(curve.status())) return curve.status();
  }
  std::vector<std::vector<Curve>> seen(static_cast<size_t>(row.pipeline));
  for (int stage = 0; stage < row.pipeline; ++stage) {
    for (int part = 0; part < row.tensor; ++part) {
      const int rank = mesh.RankOf({.pipeline = stage, .tensor = part});
      auto& curve = curves[static_cast<size_t>(rank)];
      MUSTER_RETURN_IF_ERROR(curve.status());
      seen[static_cast<size_t>(stage)].push_back(*std::move(curve));
    }
  }
  return WholeCurve(run, seen);
}

}  // namespace muster::trainer
