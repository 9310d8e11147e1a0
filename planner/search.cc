#include "planner/search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/fp8.h"

namespace muster::planner {
namespace {

// Plans this near to the fastest are as good as it.
constexpr double kAlike = 1.03;
constexpr size_t kMostPlans = 5;
constexpr int32_t kMostMicroBatch = 512;
constexpr std::array<PipelineSchedule, 4> kSchedules = {
    PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kZeroBubble,
    PipelineSchedule::kInterleaved, PipelineSchedule::kZeroBubbleV};

int32_t Narrow(int64_t number) { return static_cast<int32_t>(number); }

// Returns the divisors of `number` up to `most`, rising.
std::vector<int32_t> Divisors(int64_t number, int64_t most) {
  std::vector<int32_t> divisors;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor) {
    if (number % divisor == 0) divisors.push_back(Narrow(divisor));
  }
  return divisors;
}

// A layout that could run, as little of it as the choice needs.
struct Accepted {
  Layout layout;
  double seconds = 0;
};

// How much there is to a layout besides copies of the model.
int Complexity(const Layout& layout) {
  const auto axis = [](int32_t extent) { return extent > 1 ? 4 : 0; };
  return axis(layout.tensor) + axis(layout.pipeline) + axis(layout.context) + layout.zero +
         (layout.recompute == Recompute::kFull ? 1 : 0) + (layout.offload ? 2 : 0) +
         (layout.schedule != PipelineSchedule::kOneForwardOneBackward ? 1 : 0) +
         (layout.zero > 0 && layout.data > 1 ? 1 : 0);
}

bool SameButMicroBatch(Layout a, const Layout& b) {
  a.micro_batch = b.micro_batch;
  return a == b;
}

std::optional<Refusal> CheckRules(const PlanRequest& request, const Layout& layout) {
  const ModelShape& shape = request.work.shape;
  const int64_t together = int64_t{layout.tensor} * layout.context;
  if (layout.ranks() != request.ranks || request.ranks_of_worker % layout.tensor != 0) {
    return Refusal::kRanks;
  }
  const int32_t divided = shape.key_value_heads > 0 ? shape.key_value_heads : shape.heads;
  if (divided % layout.tensor != 0) return Refusal::kHeads;
  if (layout.context > 1 && !layout.ring && shape.heads % together != 0) return Refusal::kHeads;
  if (request.work.sequence % (together * (layout.ring ? 2 : 1)) != 0) return Refusal::kSequence;
  if (int64_t{layout.pipeline} * layout.chunks > int64_t{shape.layers} + 2) return Refusal::kStages;
  const int64_t micro_batches = request.work.global_batch / layout.micro_batch;
  if (request.work.global_batch % layout.micro_batch != 0 || layout.workers() > micro_batches) {
    return Refusal::kMicroBatches;
  }
  if (request.divides_weights && layout.zero != 3) return Refusal::kWeightsSent;
  if (request.work.precision == Precision::kFp8 &&
      !CheckFp8(shape, layout.micro_batch, request.work.sequence, layout.tensor, layout.context)
           .ok()) {
    return Refusal::kFp8;
  }
  return std::nullopt;
}

Refusal LargestPart(const MemoryEstimate& memory) {
  const int64_t state = memory.parameters + memory.casts + memory.gradients + memory.optimizer +
                        memory.update + memory.checkpoint_copy;
  if (state >= memory.activations && state >= memory.logits) return Refusal::kWeights;
  return memory.activations >= memory.logits ? Refusal::kActivations : Refusal::kLogits;
}

// Beyond this a size in bytes may have no room in 64 bits.
constexpr double kMostBytes = 1e17;
constexpr double kMostParameters = 1e14;

// Returns an upper bound of what a micro-batch's scores and tokens take in all layers.
double AtMost(const Work& work, const Layout& layout) {
  const ModelShape& shape = work.shape;
  const double tokens =
      static_cast<double>(layout.micro_batch) * static_cast<double>(work.sequence);
  const double widest = 30.0 * shape.width + 4.0 * shape.feed_forward_width;
  const double scores = static_cast<double>(shape.heads) * static_cast<double>(work.sequence);
  return 32 * tokens * (widest + scores + shape.vocabulary) * (shape.layers + 2.0);
}

double RoughParameters(const ModelShape& shape) {
  const double c = shape.width;
  return shape.layers * c * (12 * c + 3.0 * shape.feed_forward_width) +
         2 * c * (1.0 * shape.vocabulary + shape.positions);
}

bool OfMemory(Refusal refusal) {
  return refusal == Refusal::kWeights || refusal == Refusal::kActivations ||
         refusal == Refusal::kLogits;
}

// The ways in which a rank's blocks can be run: the schedule of stages, and what is computed again.
std::vector<Layout> Variants(const Layout& layout, const ModelShape& shape) {
  std::vector<Layout> variants;
  for (const PipelineSchedule schedule : kSchedules) {
    const bool chunked = schedule == PipelineSchedule::kInterleaved;
    if (layout.pipeline == 1 && schedule != kSchedules[0]) continue;
    // With ZeRO 2 and 3, and where blocks are computed again, zero-bubble schedules put off
    // nothing.
    const bool puts_off =
        schedule == PipelineSchedule::kZeroBubble || schedule == PipelineSchedule::kZeroBubbleV;
    if (layout.zero >= 2 && puts_off) continue;
    for (const int32_t chunks : {2, 4, 8}) {
      if (!chunked && chunks > 2) continue;
      const bool folded = schedule == PipelineSchedule::kZeroBubbleV;
      const int32_t runs = chunked || folded ? chunks : 1;
      if (runs > 1 && int64_t{runs} * layout.pipeline > shape.layers) continue;
      for (const int32_t every : {0, 2, 1}) {
        if (every > 0 && puts_off) continue;
        Layout variant = layout;
        variant.schedule = schedule;
        variant.chunks = runs;
        variant.recompute = every > 0 ? Recompute::kFull : Recompute::kNone;
        variant.recompute_every = std::max(1, every);
        variants.push_back(variant);
      }
    }
  }
  return variants;
}

// One search. Not thread-safe; lives for one call.
class Search {
 public:
  explicit Search(const PlanRequest& request) : request_(request) {}

  PlanResult Run() {
    const int64_t stages = int64_t{request_.work.shape.layers} + 2;
    for (const int32_t tensor : Divisors(request_.ranks_of_worker, request_.ranks_of_worker)) {
      for (const int32_t context : Divisors(request_.ranks / tensor, 64)) {
        if ((context & (context - 1)) != 0) continue;
        const int64_t rest = request_.ranks / tensor / context;
        for (const int32_t pipeline : Divisors(rest, std::min<int64_t>(stages, 1024))) {
          Layout layout;
          layout.tensor = tensor;
          layout.context = context;
          layout.pipeline = pipeline;
          for (const bool ring : {false, true}) {
            if (ring && context == 1) continue;
            layout.ring = ring;
            TryStates(layout, rest / pipeline);
          }
        }
      }
    }
    return Finish();
  }

 private:
  // Tries the stages of ZeRO for this number of workers. The state is divided among all of them, or
  // among those of one group of linked devices.
  void TryStates(const Layout& mesh, int64_t workers) {
    const int64_t inside = int64_t{request_.wiring.joined} / (mesh.tensor * mesh.context);
    std::vector<int64_t> shards = {workers};
    if (inside > 1 && inside < workers && workers % inside == 0) shards.push_back(inside);
    for (const bool offload : {false, true}) {
      if (offload && !request_.device.is_cpu) continue;
      for (int32_t zero = 0; zero <= (workers > 1 ? 3 : 0); ++zero) {
        for (const int64_t shard : shards) {
          if (zero == 0 && shard != shards[0]) continue;
          Layout layout = mesh;
          layout.offload = offload;
          layout.zero = zero;
          layout.shard = zero > 0 ? Narrow(shard) : 1;
          layout.data = Narrow(workers / layout.shard);
          for (const Layout& variant : Variants(layout, request_.work.shape)) {
            TryMicroBatches(variant);
          }
        }
      }
    }
  }

  // Memory rises with the micro-batch, so larger ones are not tried after the first that is refused
  // for it.
  void TryMicroBatches(Layout layout) {
    const int64_t most = std::max<int64_t>(1, request_.work.global_batch / layout.workers());
    for (const int32_t micro_batch : MicroBatchesUpTo(most)) {
      layout.micro_batch = micro_batch;
      Plan plan;
      ++result_.considered;
      const std::optional<Refusal> refusal = CheckLayout(request_, layout, plan);
      if (!refusal) {
        accepted_.push_back({layout, plan.time.Total()});
        continue;
      }
      Refuse(*refusal, layout, plan.memory.Total());
      return;
    }
  }

  std::vector<int32_t> MicroBatchesUpTo(int64_t most) const {
    if (request_.micro_batch > 0) return {request_.micro_batch};
    return Divisors(request_.work.global_batch, std::min<int64_t>(most, kMostMicroBatch));
  }

  void Refuse(Refusal reason, const Layout& layout, int64_t bytes) {
    const auto [place, first] = refused_.try_emplace(reason, Refused{.reason = reason});
    Refused& refused = place->second;
    ++refused.layouts;
    if (!first && !(OfMemory(reason) && bytes < refused.bytes)) return;
    refused.nearest = layout;
    refused.bytes = OfMemory(reason) ? bytes : 0;
  }

  Plan Whole(const Layout& layout) const {
    Plan plan;
    CheckLayout(request_, layout, plan);
    return plan;
  }

  // Puts the simplest of the fastest first, and the next best of other kinds behind it.
  PlanResult Finish() {
    std::stable_sort(accepted_.begin(), accepted_.end(),
                     [](const Accepted& a, const Accepted& b) { return a.seconds < b.seconds; });
    for (const auto& [reason, refused] : refused_) result_.refused.push_back(refused);
    if (accepted_.empty()) return std::move(result_);
    const Accepted* chosen = &accepted_.front();
    for (const Accepted& other : accepted_) {
      if (other.seconds > accepted_.front().seconds * kAlike) break;
      if (Complexity(other.layout) < Complexity(chosen->layout)) chosen = &other;
    }
    result_.plans.push_back(Whole(chosen->layout));
    for (const Accepted& other : accepted_) {
      if (result_.plans.size() == kMostPlans) break;
      const bool known = std::any_of(
          result_.plans.begin(), result_.plans.end(),
          [&](const Plan& plan) { return SameButMicroBatch(plan.layout, other.layout); });
      if (!known) result_.plans.push_back(Whole(other.layout));
    }
    return std::move(result_);
  }

  const PlanRequest& request_;
  PlanResult result_;
  std::vector<Accepted> accepted_;
  std::map<Refusal, Refused> refused_;
};

// Makes the layouts that differ from the chosen one in one decision.
class Neighbours {
 public:
  explicit Neighbours(const PlanRequest& request, const Plan& chosen)
      : request_(request), chosen_(chosen) {}

  std::vector<Neighbour> All() {
    for (const bool more : {true, false}) {
      Scaled("tensor", &Layout::tensor, more);
      Scaled("pipeline", &Layout::pipeline, more);
      Scaled("context", &Layout::context, more);
      MicroBatch(more);
    }
    for (int32_t zero = 0; zero <= 3; ++zero) Zero(zero);
    Recomputes();
    Schedules();
    std::stable_sort(all_.begin(), all_.end(), [](const Neighbour& a, const Neighbour& b) {
      if (a.refusal.has_value() != b.refusal.has_value()) return !a.refusal.has_value();
      return !a.refusal && a.plan.time.Total() < b.plan.time.Total();
    });
    return std::move(all_);
  }

 private:
  void Add(std::string change, const Layout& layout) {
    Neighbour neighbour{.change = std::move(change)};
    neighbour.refusal = CheckLayout(request_, layout, neighbour.plan);
    neighbour.plan.layout = layout;
    all_.push_back(std::move(neighbour));
  }

  // Shares the ranks out anew after an axis has changed; nothing, if they cannot be.
  std::optional<Layout> Refit(Layout layout) const {
    const int64_t apart = int64_t{layout.tensor} * layout.pipeline * layout.context;
    if (apart > request_.ranks || request_.ranks % apart != 0) return std::nullopt;
    const int64_t workers = request_.ranks / apart;
    const bool all = chosen_.layout.data == 1 || chosen_.layout.zero == 0;
    if (layout.zero == 0) {
      layout.shard = 1;
    } else if (all || workers % layout.shard != 0) {
      layout.shard = Narrow(workers);
    }
    layout.data = Narrow(workers / layout.shard);
    if (layout.pipeline == 1) {
      layout.schedule = PipelineSchedule::kOneForwardOneBackward;
      layout.chunks = 1;
    }
    return layout;
  }

  void Scaled(const char* name, int32_t Layout::* axis, bool more) {
    Layout layout = chosen_.layout;
    const int32_t before = layout.*axis;
    if (!more && before % 2 != 0) return;
    layout.*axis = more ? before * 2 : before / 2;
    const std::optional<Layout> fitted = Refit(layout);
    if (fitted) Add(absl::StrCat(name, ": ", layout.*axis, " in place of ", before), *fitted);
  }

  void MicroBatch(bool more) {
    Layout layout = chosen_.layout;
    const int32_t before = layout.micro_batch;
    if (request_.micro_batch > 0 || (!more && before % 2 != 0)) return;
    layout.micro_batch = more ? before * 2 : before / 2;
    Add(absl::StrCat("microBatch: ", layout.micro_batch, " in place of ", before), layout);
  }

  void Zero(int32_t zero) {
    Layout layout = chosen_.layout;
    if (zero == layout.zero || layout.workers() == 1) return;
    layout.zero = zero;
    const std::optional<Layout> fitted = Refit(layout);
    if (!fitted) return;
    Add(absl::StrCat("zero: ", zero, " in place of ", chosen_.layout.zero), *fitted);
  }

  void Recomputes() {
    Layout layout = chosen_.layout;
    const bool full = layout.recompute == Recompute::kFull;
    layout.recompute = full ? Recompute::kNone : Recompute::kFull;
    layout.recompute_every = 1;
    Add(full ? "recompute: None in place of Full" : "recompute: Full in place of None", layout);
  }

  void Schedules() {
    if (chosen_.layout.pipeline == 1) return;
    for (const PipelineSchedule schedule : kSchedules) {
      Layout layout = chosen_.layout;
      if (schedule == layout.schedule) continue;
      layout.schedule = schedule;
      const bool one = schedule == PipelineSchedule::kOneForwardOneBackward ||
                       schedule == PipelineSchedule::kZeroBubble;
      layout.chunks = one ? 1 : 2;
      Add(absl::StrCat("schedule: ", Name(schedule), " in place of ",
                       Name(chosen_.layout.schedule)),
          layout);
    }
  }

  const PlanRequest& request_;
  const Plan& chosen_;
  std::vector<Neighbour> all_;
};

absl::Status CheckRequest(const PlanRequest& request) {
  if (request.ranks < 1 || request.ranks_of_worker < 1 ||
      request.ranks % request.ranks_of_worker != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a plan needs at least one rank, and whole workers: here ", request.ranks,
                     " ranks and ", request.ranks_of_worker, " in a worker"));
  }
  if (request.ranks > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("a plan is for at most 1,000,000 ranks, not ", request.ranks));
  }
  if (request.work.sequence < 1 || request.work.global_batch < 1 || request.micro_batch < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a step needs sequences and tokens: here ",
                                                   request.work.global_batch, " sequences of ",
                                                   request.work.sequence, " tokens"));
  }
  if (!(request.device.Rate(request.work.precision) > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", request.device.name, " has no matrix products in the job's precision"));
  }
  if (request.work.shape.vocabulary < 1) {
    return absl::InvalidArgumentError("the model's vocabulary is unknown: set model.vocabulary");
  }
  if (absl::Status status = CheckShape(request.work.shape); !status.ok()) return status;
  if (!(RoughParameters(request.work.shape) <= kMostParameters)) {
    return absl::InvalidArgumentError("a plan is for models of at most 100 trillion parameters");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Describe(Refusal refusal) {
  switch (refusal) {
    case Refusal::kRanks:
      return "tensor must divide the ranks of a worker, and all axes together all ranks";
    case Refusal::kHeads:
      return "tensor (or tensor x context, with Heads) does not divide the model's heads";
    case Refusal::kSequence:
      return "tensor x context does not divide the sequence";
    case Refusal::kStages:
      return "some stages would have no block";
    case Refusal::kMicroBatches:
      return "there would be fewer micro-batches than groups of ranks that need one";
    case Refusal::kWeightsSent:
      return "communication.weights: BF16 needs zero 3";
    case Refusal::kFp8:
      return "FP8 products need dimensions that are multiples of 16 on each rank";
    case Refusal::kWeights:
      return "weights, gradients and the optimizer's state do not fit";
    case Refusal::kActivations:
      return "activations do not fit";
    case Refusal::kLogits:
      return "logits do not fit";
  }
  return "";
}

std::optional<Refusal> CheckLayout(const PlanRequest& request, const Layout& layout, Plan& plan) {
  plan.layout = layout;
  if (const auto refusal = CheckRules(request, layout); refusal) return refusal;
  if (AtMost(request.work, layout) > kMostBytes) {
    plan.memory.rank.activations = static_cast<int64_t>(kMostBytes);
    return Refusal::kActivations;
  }
  plan.memory = EstimateDevice(request.work, layout, request.device, request.optimizer);
  if (plan.memory.Total() > request.device.memory_bytes) return LargestPart(plan.memory.rank);
  plan.time = EstimateStep(request.work, layout, request.device, request.wiring, request.engine);
  return std::nullopt;
}

absl::StatusOr<PlanResult> PlanLayouts(const PlanRequest& request) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  PlanResult result = Search(request).Run();
  if (!result.plans.empty()) {
    result.neighbours = Neighbours(request, result.plans.front()).All();
  }
  return result;
}

double ModelUse(const PlanRequest& request, double seconds) {
  return ModelOperations(request.work) / (seconds * static_cast<double>(request.ranks) *
                                          request.device.Rate(request.work.precision));
}

}  // namespace muster::planner
