#include "planner/step_time.h"

#include <algorithm>
#include <cmath>

namespace muster::planner {
namespace {

constexpr double kMoved = 2;  // bytes of a number that blocks compute with, save in FP32 and FP64

double BytesOfNumber(Precision precision) {
  if (precision == Precision::kFp64) return 8;
  return precision == Precision::kFp32 ? 4 : kMoved;
}

// The seconds of one block for one micro-batch on one rank, forward alone.
struct BlockTime {
  double products = 0, attention = 0, passes = 0;

  double all() const { return products + attention + passes; }
};

// Everything that the parts of an estimate share.
struct Setting {
  const Work& work;
  const Layout& layout;
  const Device& device;
  const Wiring& wiring;
  const Engine& engine;

  double number() const { return BytesOfNumber(work.precision); }
  // The tokens of a micro-batch on a rank of the context axis.
  double tokens() const {
    return static_cast<double>(layout.micro_batch) * work.sequence / layout.context;
  }
  int64_t micro_batches() const { return MicroBatches(work, layout); }
  // Gradients of weights can be put off, if they are added up whole and blocks are not run again.
  bool splits_backward() const { return layout.recompute == Recompute::kNone && layout.zero < 2; }
  double moved(double bytes) const { return bytes / (device.memory_bandwidth * engine.memory); }
  double rate(Precision precision) const { return device.Rate(precision) * engine.matmul; }
};

// Returns the seconds of a product of a rows x inner and an inner x columns matrix: its arithmetic,
// its traffic with memory, and its start. Small and flat products reach less of the device's rate.
double ProductSeconds(const Setting& set, Precision precision, double rows, double columns,
                      double inner) {
  const double bytes = set.number() * (rows * inner + inner * columns + rows * columns);
  return 2 * rows * columns * inner / set.rate(precision) + set.moved(bytes) +
         set.engine.product_start;
}

double ProductsOfBlock(const Setting& set) {
  const ModelShape& shape = set.work.shape;
  const double c = shape.width, t = set.layout.tensor, tokens = set.tokens();
  const double kv = shape.key_value_width(), f = shape.feed_forward_width;
  const double up = shape.family == ModelFamily::kLlama ? 2 * f : f;
  const auto product = [&](double columns, double inner) {
    return ProductSeconds(set, set.work.precision, tokens, columns, inner);
  };
  return product((c + 2 * kv) / t, c) + product(c, c / t) + product(up / t, c) + product(c, f / t);
}

// Attention's two products over all pairs of tokens, half of them with a causal kernel, and the
// traffic of scores where they are written out.
double AttentionOfBlock(const Setting& set) {
  const ModelShape& shape = set.work.shape;
  const double scores = static_cast<double>(set.layout.micro_batch) * shape.heads *
                        set.work.sequence * set.work.sequence /
                        (set.layout.tensor * set.layout.context);
  const bool flash = set.engine.flash_attention && !(shape.dropout > 0);
  const Precision precision =
      set.work.precision == Precision::kFp8 ? Precision::kBf16 : set.work.precision;
  const double rate = set.device.Rate(precision) * set.engine.attention;
  const double operations = 4 * scores * shape.head_width() * (flash ? 0.5 : 1);
  const double bytes = flash ? 0 : scores * set.engine.score_bytes * set.number() / kMoved;
  return operations / rate + set.moved(bytes);
}

double PassesOfBlock(const Setting& set) {
  const ModelShape& shape = set.work.shape;
  const double t = set.layout.tensor;
  const double whole =
      set.engine.whole_passes * shape.width / (set.layout.sequence_parallel ? t : 1);
  // GELU reads and writes one number; SwiGLU reads two and writes one.
  const double numbers = shape.family == ModelFamily::kLlama ? 3 : 2;
  const double divided = set.engine.divided_passes * shape.width +
                         numbers * kMoved * static_cast<double>(shape.feed_forward_width);
  return set.moved(set.tokens() * (whole + divided / t) * set.number() / kMoved);
}

BlockTime BlockForward(const Setting& set) {
  return {ProductsOfBlock(set), AttentionOfBlock(set), PassesOfBlock(set)};
}

// Ranks that exchange something: how many, and how far two neighbours among them are apart in the
// order of ranks.
struct Group {
  double ranks = 1;
  double stride = 1;
};

// Returns the bytes/s that each rank of a group sends and receives, when all groups of that kind
// exchange at once.
double Bandwidth(const Setting& set, const Group& group) {
  const double span = (group.ranks - 1) * group.stride + 1;  // from the first to the last
  if (span <= set.wiring.joined) return set.device.link_bandwidth * set.engine.links;
  // A ring leaves a machine once for all of its members in it, with the share of the network that
  // these have.
  const double inside = std::clamp(set.wiring.joined / group.stride, 1.0, group.ranks);
  double network = set.device.network_bandwidth * set.engine.network * inside;
  if (span > static_cast<double>(set.wiring.leaf)) network /= set.wiring.oversubscription;
  return std::min(network, set.device.link_bandwidth * set.engine.links);
}

// Returns the seconds until all ranks have started to exchange.
double Start(const Setting& set, const Group& group) {
  const double inside =
      std::clamp(set.wiring.joined / group.stride, 1.0, std::max(1.0, group.ranks));
  const double machines = std::ceil(group.ranks / inside);
  return set.device.link_start + set.device.link_hop * (std::min(group.ranks, inside) - 1) +
         set.device.network_start * 2 * std::log2(std::max(1.0, machines));
}

// An all-gather or a reduce-scatter of `bytes`, by a ring: each rank passes on (n - 1) / n of them.
double Gather(const Setting& set, const Group& group, double bytes) {
  if (group.ranks <= 1) return 0;
  return Start(set, group) / 2 + (group.ranks - 1) / group.ranks * bytes / Bandwidth(set, group);
}

double AllReduce(const Setting& set, const Group& group, double bytes) {
  return 2 * Gather(set, group, bytes);
}

// The exchange along the tensor axis for one block and micro-batch: two all-reduces (or a gather
// and a scatter each, which send the same) forward and backward (arXiv 1909.08053, figure 4;
// 2205.05198, figure 5), once more for what is computed again.
double TensorOfBlock(const Setting& set, double recomputed) {
  const double t = set.layout.tensor;
  if (t <= 1) return 0;
  const double once = AllReduce(set, {t, 1}, set.tokens() * set.work.shape.width * set.number());
  const double again = set.engine.gathers_again && set.layout.sequence_parallel ? 1 : 0;
  return once * (4 + again + 2 * recomputed);
}

// The exchange along the context axis. Heads: queries, keys, values and outputs change hands,
// forward and backward (arXiv 2309.14509). A ring passes keys and values on, and back their
// gradients; what its attention does not hide is counted (arXiv 2310.01889).
double ContextOfBlock(const Setting& set, const BlockTime& block, double recomputed) {
  const double c = set.layout.context, t = set.layout.tensor;
  if (c <= 1) return 0;
  const Group group{c, t};
  const double kv = set.work.shape.key_value_width(), width = set.work.shape.width;
  const double passes = 2 + recomputed;
  const double bytes = set.tokens() / t * set.number();
  if (!set.layout.ring) {
    const double each =
        2 * Start(set, group) + bytes * (2 * width + 2 * kv) * (c - 1) / c / Bandwidth(set, group);
    return passes * each;
  }
  const double each = (c - 1) * (Start(set, group) + bytes * 2 * kv / Bandwidth(set, group));
  return passes * std::max(each - block.attention, each * 0.1);
}

// Two times overlap, and the longer one decides. Where they are alike they hinder each other.
double Longer(double device, double host) {
  if (host <= 0) return device;
  const double most = std::max(device, host);
  return most * std::pow(std::pow(device / most, 8) + std::pow(host / most, 8), 1.0 / 8);
}

double HostOfBlock(const Setting& set) {
  const Engine& engine = set.engine;
  double host = engine.host_block * (set.layout.recompute == Recompute::kFull ? 1 : 0.75);
  const double heads = static_cast<double>(set.work.shape.heads) / set.layout.tensor;
  if (std::fmod(set.layout.micro_batch * heads, engine.softmax_multiple) != 0) {
    host += engine.host_unfused;
  }
  return set.device.is_cpu ? 0 : host;
}

// The seconds of one block for one micro-batch, forward and backward.
struct MicroBatchOfBlock {
  double attention = 0, again = 0, tensor = 0, context = 0;
  double host = 0;   // that the device waits
  double whole = 0;  // everything
};

MicroBatchOfBlock TimeBlock(const Setting& set, const BlockTime& block) {
  const Layout& layout = set.layout;
  // A backward pass has two products for each of the forward pass. Flash attention computes its
  // scores again in it (arXiv 2205.14135).
  const double backward = set.engine.flash_attention ? 2.5 : 2;
  const double every = layout.recompute == Recompute::kFull ? 1.0 / layout.recompute_every : 0;
  MicroBatchOfBlock micro;
  micro.attention = (1 + backward) * block.attention;
  micro.again = layout.recompute == Recompute::kSelective ? block.attention : every * block.all();
  micro.tensor = TensorOfBlock(set, every);
  micro.context = ContextOfBlock(set, block, every);
  const double on_device = 3 * (block.products + block.passes) + micro.attention + micro.again +
                           micro.tensor + micro.context;
  micro.whole = Longer(on_device, HostOfBlock(set));
  micro.host = micro.whole - on_device;
  return micro;
}

double HeadSeconds(const Setting& set) {
  const ModelShape& shape = set.work.shape;
  const double columns = static_cast<double>(shape.vocabulary) / set.layout.tensor;
  const Precision precision =
      set.work.precision == Precision::kFp8 ? Precision::kBf16 : set.work.precision;
  const double products = ProductSeconds(set, precision, set.tokens(), columns, shape.width);
  const double passes =
      set.moved(set.tokens() * columns * set.engine.logit_bytes * set.number() / kMoved);
  return 3 * products + passes;
}

// The blocks of a stage that is not the last one, and of the last one, which has the head, too.
struct Cut {
  double others = 0, last = 0;
};

Cut CutBlocks(const Setting& set, double block, double head) {
  const double layers = set.work.shape.layers, stages = set.layout.pipeline;
  if (stages == 1) return {0, layers};
  if (!set.engine.balances_stages) return {layers / stages, layers / stages};
  Cut best{layers, 0};
  double least = -1;
  for (double last = 0; last <= layers; ++last) {
    const double others = std::ceil((layers - last) / (stages - 1));
    const double costliest = std::max(others * block, last * block + head);
    if (least >= 0 && costliest >= least) continue;
    least = costliest;
    best = {others, last};
  }
  return best;
}

// Returns the part of one micro-batch's time in the other stages for which a stage waits with m
// micro-batches. 1F1B: all of it. Interleaved: divided by the chunks (arXiv 2104.04473, section
// 2.2), ZeroBubble: F + B - W of F + B + W (2401.10241, table 2). With fewer micro-batches than
// stages each has less to fill the time with; these terms, and those of ZeroBubbleV, are read from
// the trainer's tables (tests/planner/bubble_test.cc), where folded stages wait 0.5 to 0.8 times as
// long as ZeroBubble's.
double WaitingPart(const Setting& set, const BlockTime& block) {
  const double others = set.layout.pipeline - 1.0, m = static_cast<double>(set.micro_batches());
  const double most = std::min(m, others + 1);
  const double weights = block.products / std::max(3 * block.all(), 1e-30);  // W of F + B + W
  switch (set.layout.schedule) {
    case PipelineSchedule::kOneForwardOneBackward:
      return 1;
    case PipelineSchedule::kInterleaved:
      return 1 - (most - 1) / others * (1 - 1.0 / set.layout.chunks);
    case PipelineSchedule::kZeroBubble:
      if (!set.splits_backward()) return 1;
      return 1 - std::min(2.0, 1 + (most - 1) / others) * weights;
    case PipelineSchedule::kZeroBubbleV: {
      const double filled = (others > 1 ? 0.7 : 0.5) * (1 - 2 * weights);
      const double short_of = (2 * others + 1.5 - 2 * most) / (3 * others);
      return std::max(filled, 1 - 3 * weights * (1 - std::max(0.0, short_of)));
    }
  }
  return 1;
}

// Returns the time for which a stage waits for others. The two runs of folded stages that put
// nothing off are in each other's way: they wait a third as long as they work where gradients are
// divided, and as long as they work where blocks are computed again, whose tables do not know it.
double Waiting(const Setting& set, const BlockTime& block, double others, double works) {
  if (set.layout.pipeline == 1) return 0;
  if (set.layout.schedule == PipelineSchedule::kZeroBubbleV && !set.splits_backward()) {
    return std::max(others, set.layout.zero >= 2 ? works / 3 : works);
  }
  return others * WaitingPart(set, block);
}

// The exchange of gradients and weights of a step, and the part of the step's other time that hides
// it.
double DataSeconds(const Setting& set, double micro_batch) {
  const Layout& layout = set.layout;
  const double inner = static_cast<double>(layout.tensor) * layout.context;
  const Group copies{
      static_cast<double>(layout.data) * layout.context * (layout.zero > 0 ? 1 : layout.shard),
      inner * (layout.zero > 0 ? layout.shard : 1) / layout.context};
  const Group shards{layout.zero > 0 ? static_cast<double>(layout.shard) : 1.0, inner};
  const WorkDivision division{.tensor = layout.tensor, .stages = layout.pipeline};
  const double parameters = static_cast<double>(UnitSizesOf(set.work.shape, division).parameters);
  const double gradients = parameters * set.engine.gradient_bytes;
  const double weights = parameters * set.engine.weight_bytes;
  const double m = static_cast<double>(set.micro_batches());
  double seconds = AllReduce(set, copies, gradients / shards.ranks);
  double hiding = 2.0 / 3 * micro_batch;
  if (layout.zero == 1) seconds += Gather(set, shards, gradients) + Gather(set, shards, weights);
  if (layout.zero == 2) {
    seconds += m * Gather(set, shards, gradients) + Gather(set, shards, weights);
    hiding = 2.0 / 3 * m * micro_batch;
  }
  if (layout.zero == 3) {
    seconds += m * (Gather(set, shards, gradients) + 2 * Gather(set, shards, weights));
    hiding = m * micro_batch;
  }
  if (!set.engine.overlaps_data) return seconds;
  // The first block's part has nothing left to hide behind, and an exchange slows what it runs
  // beside.
  const double blocks = std::max(1.0, static_cast<double>(set.work.shape.layers) / layout.pipeline);
  return std::max(seconds - hiding, seconds / blocks) + 0.05 * std::min(seconds, hiding);
}

double EmbeddingSum(const Setting& set) {
  const Layout& layout = set.layout;
  if (layout.pipeline == 1 || !set.work.shape.tied_head) return 0;
  const double apart = static_cast<double>(layout.ranks()) / layout.pipeline;
  const double part = static_cast<double>(set.work.shape.vocabulary) * set.work.shape.width /
                      layout.tensor * set.engine.gradient_bytes;
  return AllReduce(set, {2, apart * (layout.pipeline - 1)}, part);
}

double OptimizerSeconds(const Setting& set) {
  const Layout& layout = set.layout;
  const WorkDivision division{.tensor = layout.tensor, .stages = layout.pipeline};
  const double parameters = static_cast<double>(UnitSizesOf(set.work.shape, division).parameters);
  const double share = layout.zero > 0 ? layout.shard : 1;
  const double update = set.moved(parameters / share * set.engine.update_bytes);
  if (!layout.offload) return update;
  // Two moments in FP32 are read and written.
  return update + parameters / share * 16 / std::max(1.0, set.device.disk_bandwidth);
}

double MessagesOfMicroBatch(const Setting& set) {
  const Layout& layout = set.layout;
  if (layout.pipeline == 1) return 0;
  const double bytes =
      set.tokens() * set.work.shape.width * set.number() / layout.tensor * layout.chunks;
  // Stages are the outermost axis: if not all ranks are linked, some messages leave their machine,
  // each by its own device's share of the network.
  double bandwidth = set.device.link_bandwidth * set.engine.links;
  if (layout.ranks() > set.wiring.joined) {
    bandwidth = set.device.network_bandwidth * set.engine.network;
    if (layout.ranks() > set.wiring.leaf) bandwidth /= set.wiring.oversubscription;
  }
  return 2 * (bytes / bandwidth + set.device.network_start * layout.chunks);
}

}  // namespace

absl::string_view Name(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kOneForwardOneBackward:
      return "1F1B";
    case PipelineSchedule::kZeroBubble:
      return "ZeroBubble";
    case PipelineSchedule::kInterleaved:
      return "Interleaved";
    case PipelineSchedule::kZeroBubbleV:
      return "ZeroBubbleV";
  }
  return "";
}

int64_t MicroBatches(const Work& work, const Layout& layout) {
  const int64_t all = (work.global_batch + layout.micro_batch - 1) / layout.micro_batch;
  return (all + layout.workers() - 1) / layout.workers();
}

double ModelOperations(const Work& work) {
  const ModelShape& shape = work.shape;
  const double embedding = static_cast<double>(shape.vocabulary) * shape.width;
  // A tied head's matrix is multiplied once; an untied embedding never is.
  double matrices = static_cast<double>(ParameterCount(shape)) - (shape.tied_head ? 0 : embedding);
  if (shape.family == ModelFamily::kGpt2) {
    matrices -= static_cast<double>(shape.positions) * shape.width;
  }
  const double tokens = static_cast<double>(work.global_batch) * work.sequence;
  const double scores = 12.0 * shape.layers * shape.width * work.sequence;
  return tokens * (6 * matrices + scores);
}

StepTime EstimateStep(const Work& work, const Layout& layout, const Device& device,
                      const Wiring& wiring, const Engine& engine) {
  const Setting set{work, layout, device, wiring, engine};
  const BlockTime block = BlockForward(set);
  const MicroBatchOfBlock micro = TimeBlock(set, block);
  const double head_host = device.is_cpu ? 0 : engine.host_head;
  const double embedding = set.moved(set.tokens() * work.shape.width * 10);
  const double head = HeadSeconds(set) + head_host + embedding;

  const Cut cut = CutBlocks(set, micro.whole, head);
  const double last = cut.last * micro.whole + head, other = cut.others * micro.whole;
  const bool ends = last >= other;  // the last stage is the costliest
  const double costliest = std::max(last, other), messages = MessagesOfMicroBatch(set);
  const double others =
      work.shape.layers * micro.whole + head - costliest + (layout.pipeline - 1) * messages;

  // The costliest stage's blocks stand for their classes. The time that a micro-batch takes in
  // other stages is waiting.
  const double m = static_cast<double>(set.micro_batches());
  const double times = m * (ends ? cut.last : cut.others);
  StepTime time;
  time.products = times * 3 * block.products;
  time.attention = times * micro.attention;
  time.passes = times * 3 * block.passes;
  time.recompute = times * micro.again;
  time.tensor = times * micro.tensor;
  time.context = times * micro.context;
  time.host = times * micro.host + (ends ? m * head_host : 0);
  time.head = ends ? m * (head - head_host) : 0;
  time.messages = m * messages;
  time.bubble = Waiting(set, block, others, m * costliest);
  time.data = DataSeconds(set, costliest) + EmbeddingSum(set);
  time.optimizer = OptimizerSeconds(set);
  time.fixed = engine.step;
  return time;
}

}  // namespace muster::planner
