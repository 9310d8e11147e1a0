#include "planner/memory.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::planner {
namespace {

// The memory of a LibTorch program before it holds a model, with room for the allocator.
constexpr int64_t kFixedBytes = int64_t{300} << 20;

int64_t ElementBytes(Precision precision) { return precision == Precision::kFp64 ? 8 : 4; }

// The element size in which the blocks compute and save for the backward pass. With FP8, inputs of
// layers are saved in FP8 and outputs are BF16: all are counted as BF16.
int64_t ComputeBytes(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
    case Precision::kFp16:
    case Precision::kFp8:
      return 2;
    case Precision::kFp32:
    case Precision::kFp64:
      return ElementBytes(precision);
  }
  return 0;
}

// Returns the elements that one block saves for the backward pass, per token.
int64_t SavedPerToken(const ModelShape& shape) {
  const int64_t c = shape.width;
  switch (shape.family) {
    case ModelFamily::kGpt2:
    case ModelFamily::kBloom:
      // Block input, two norm outputs, q k v, attention output, projection, residual (9c in all),
      // MLP before and after GELU (4c each).
      return 17 * c;
    case ModelFamily::kLlama:
      // Block input, two norms (input, its normalized form and output each), queries before and
      // after they are turned, attention output, projection, residual (12c in all), keys and values
      // once more for each head of queries, and the MLP's gate, its SiLU, up and their product.
      return 14 * c + 2 * shape.key_value_width() + 4 * int64_t{shape.feed_forward_width};
  }
  return 0;
}

// Returns the bytes that the loss takes of one micro-batch of so many tokens: a chunk of logits,
// which become probabilities and their gradient in place, and a chunk's copies in the type of
// products if that is another: on a CPU, and in FP16 on a GPU, whose kernel of the loss has no
// FP16. Gradients from several chunks are added up in tensors of their own.
int64_t LogitsMemory(const ModelShape& shape, Precision precision, int64_t tokens,
                     LogitsPlace place, int tensor) {
  const int64_t element = ElementBytes(precision), compute = ComputeBytes(precision);
  const int64_t vocabulary = VocabularyOfPart(shape, tensor);
  const int64_t rows = LogitsRows(tokens, vocabulary, place);
  const int64_t copies = compute == element ? 0 : 2 * compute;
  const bool once = place == LogitsPlace::kGpu && precision != Precision::kFp16;
  const int64_t chunk = rows * vocabulary * (once ? compute : element + copies);
  return rows == tokens ? chunk : chunk + (vocabulary + tokens) * shape.width * element;
}

// The passes through layers that the first stage keeps at once, one for each layer and micro-batch,
// by what it keeps of them, and what it needs besides while one backward pass runs.
struct KeptLayers {
  int64_t whole = 0;
  int64_t packed = 0;
  int64_t inputs = 0;  // alone
  // The thirds of one layer's saved tensors that are there for the layer of the running backward
  // pass alone: those computed again or unpacked, and gradients of their sizes. Where all layers
  // keep all, gradients take the place of what the pass has freed.
  int64_t thirds = 0;
};

// The first stage keeps what a micro-batch needs for each stage, of its own blocks, or, with
// several chunks, (chunks + 1) * stages - 1 passes through one.
KeptLayers KeptLayersOf(const ModelShape& shape, int64_t of_stage, const WorkDivision& division) {
  const ActivationOptions& options = division.activations;
  const int64_t blocks = int64_t{shape.layers} + 2;
  const int64_t chunks = division.folded ? 1 : division.chunks;
  const int64_t of_chunk = (of_stage + chunks - 1) / chunks;
  const int64_t kept_passes = chunks == 1 ? division.stages : (chunks + 1) * division.stages - 1;
  KeptLayers kept;
  // Layers with all tensors that have had their passes before the first such one.
  int64_t freed = 0;
  for (int64_t block = 1; block <= of_chunk; ++block) {
    int64_t& passes = IsRecomputed(options, block, blocks) ? kept.inputs
                      : IsPacked(options, block, blocks)   ? kept.packed
                                                           : kept.whole;
    passes += kept_passes;
    freed = &passes == &kept.whole ? freed + 1 : 0;
  }
  if (kept.packed > 0) kept.thirds = 2;
  if (kept.inputs > 0) kept.thirds = std::max<int64_t>(0, 4 - 3 * freed);
  // A stage has the outputs of its last layer until their gradients arrive, and messages on the
  // way.
  if (kept.inputs > 0 && division.stages > 1) kept.inputs += division.stages + 2;
  return kept;
}

// Returns the bytes that attention with dropout keeps of each score, if probabilities are packed.
int64_t PackedDropoutBytes(Precision precision, int64_t scores, SavedFormat format) {
  return scores * ElementBytes(precision) + PackedBytes(format, scores, ElementBytes(precision)) +
         PackedBytes(format, scores, ComputeBytes(precision));
}

// Returns the bytes that dropout adds to a micro-batch. Masks have the type of weights. Flash
// attention takes no dropout of ours, so the scores are written out; while one block's gradients
// are computed, so are three tensors of their size.
int64_t DropoutMemory(const ModelShape& shape, Precision precision, int64_t micro_batch,
                      int64_t sequence, const WorkDivision& division, const KeptLayers& kept) {
  if (!(shape.dropout > 0)) return 0;
  const int64_t mask = ElementBytes(precision), ranks = division.tensor * division.context;
  const int64_t scores = micro_batch * shape.heads * sequence * sequence / ranks;
  const int64_t stream = micro_batch * sequence * shape.width * mask / ranks;
  // A mask of the future, of a byte, in each block. A ring computes scores again, and keeps none.
  int64_t whole =
      division.ring ? 0 : scores * DropoutBytesPerScore(precision) + sequence * sequence;
  int64_t packed = division.ring
                       ? 0
                       : PackedDropoutBytes(precision, scores, division.activations.format) +
                             sequence * sequence;
  if (shape.family != ModelFamily::kLlama) {
    whole += 2 * stream;
    packed += 2 * stream;
  }
  const int64_t embedding = shape.family == ModelFamily::kGpt2 ? stream : 0;
  return whole * kept.whole + packed * kept.packed + whole * kept.thirds / 3 + embedding +
         3 * mask * scores;
}

// Returns the bytes that layers save of `tokens` of a micro-batch, without those of dropout.
int64_t SavedMemory(const ModelShape& shape, Precision precision, int64_t tokens,
                    const WorkDivision& division, const KeptLayers& kept) {
  const int64_t compute = ComputeBytes(precision), width = shape.width, tensor = division.tensor;
  int64_t of_layer = SavedPerToken(shape);
  // Attention's output is kept before it is exchanged and after that.
  if (division.context > 1 && !division.ring) of_layer += width;
  // Each layer's two inputs of column parallel layers, and the head's, are whole sequences, which
  // are kept in place of the norms' outputs.
  const int64_t gathered = tensor > 1 ? 2 * width : 0;
  of_layer -= gathered;
  const int64_t once = kept.thirds * (of_layer / tensor + gathered) / 3;
  const int64_t whole = of_layer * kept.whole / tensor + gathered * kept.whole + width + once;
  // A layer's input stays whole when the rest is packed.
  const int64_t packed = ((of_layer - width) / tensor + gathered) * kept.packed;
  const int64_t inputs = width / tensor;
  return tokens * (whole + inputs * kept.packed) * compute +
         PackedBytes(division.activations.format, tokens * packed, compute) +
         tokens * inputs * kept.inputs * ElementBytes(precision);
}

// Returns the elements of attention's biases, which all blocks of a rank share. In a ring a rank
// makes those of its own part of the sequence anew for each block.
int64_t SharedBias(const ModelShape& shape, int64_t sequence, const WorkDivision& division) {
  if (shape.family != ModelFamily::kBloom) return 0;
  const int64_t all = shape.heads * sequence * sequence / (division.tensor * division.context);
  return division.ring ? 2 * all / division.context : all;
}

// Returns the bytes that a rank needs beside what blocks save, while one block exchanges parts of a
// sequence along the context axis. A ring has the keys and values of two ranks, and sums of their
// gradients and of the queries' in the type of weights.
int64_t ExchangeMemory(const ModelShape& shape, Precision precision, int64_t tokens,
                       const WorkDivision& division) {
  if (division.context == 1) return 0;
  const int64_t keys = shape.family == ModelFamily::kLlama ? shape.key_value_width() : shape.width;
  const int64_t own = tokens / (division.tensor * division.context);
  const int64_t moved = own * (shape.width + 2 * keys);
  if (!division.ring) return 2 * moved * ComputeBytes(precision);
  return own * 2 * keys * (2 * ComputeBytes(precision) + 2 * ElementBytes(precision)) +
         own * shape.width * ElementBytes(precision);
}

// The matrices of a block's largest size that Muon's owner of one has in memory.
constexpr int64_t kTurnedMatrices = 8;

int64_t LargestMatrix(const ModelShape& shape) {
  const int64_t c = shape.width;
  switch (shape.family) {
    case ModelFamily::kGpt2:
    case ModelFamily::kBloom:
      return 4 * c * c;
    case ModelFamily::kLlama:
      return c * std::max(c, int64_t{shape.feed_forward_width});
  }
  return 0;
}

int64_t MomentsOf(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::kAdamW:
    case OptimizerKind::kLamb:
    case OptimizerKind::kMuon:
      return 2;
    case OptimizerKind::kLion:
    case OptimizerKind::kSgdMomentum:
      return 1;
    case OptimizerKind::kSgd:
      return 0;
  }
  return 0;
}

}  // namespace

absl::StatusOr<Precision> ParsePrecision(absl::string_view name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp16") return Precision::kFp16;
  if (name == "fp8") return Precision::kFp8;
  if (name == "fp64") return Precision::kFp64;
  return absl::InvalidArgumentError(
      absl::StrCat("no precision \"", name, "\"; there are fp32, bf16, fp16, fp8, fp64"));
}

absl::StatusOr<OptimizerKind> ParseOptimizer(absl::string_view name, double momentum) {
  if (name == "adamw") return OptimizerKind::kAdamW;
  if (name == "lamb") return OptimizerKind::kLamb;
  if (name == "lion") return OptimizerKind::kLion;
  if (name == "muon") return OptimizerKind::kMuon;
  if (name == "sgd") return momentum > 0 ? OptimizerKind::kSgdMomentum : OptimizerKind::kSgd;
  return absl::InvalidArgumentError(
      absl::StrCat("no optimizer \"", name, "\"; there are adamw, lamb, lion, muon, sgd"));
}

MemoryEstimate EstimateState(int64_t parameters, Precision precision, OptimizerKind optimizer,
                             int64_t matrix) {
  const int64_t bytes = parameters * ElementBytes(precision);
  const int64_t moments = MomentsOf(optimizer);
  MemoryEstimate memory;
  memory.parameters = bytes;
  // The reduced gradient stays sealed until every unit carries the step; each rank's own
  // contribution is overwritten by the reduction.
  memory.gradients = bytes;
  memory.optimizer = bytes * moments;
  if (optimizer == OptimizerKind::kMuon) {
    memory.update = bytes + kTurnedMatrices * matrix * ElementBytes(precision);
  }
  memory.checkpoint_copy = bytes * (1 + moments);
  memory.fixed = kFixedBytes;
  return memory;
}

int64_t DropoutBytesPerScore(Precision precision) {
  return 2 * ElementBytes(precision) + ComputeBytes(precision);
}

MemoryEstimate EstimateMemory(const ModelShape& shape, Precision precision, int32_t micro_batch,
                              int32_t sequence, OptimizerKind optimizer, LogitsPlace place,
                              const WorkDivision& division) {
  const int64_t element = ElementBytes(precision);
  const int64_t compute = ComputeBytes(precision);
  const int64_t tokens = int64_t{micro_batch} * sequence / division.context;

  const UnitSizes units = UnitSizesOf(shape, division);
  MemoryEstimate memory = EstimateState(units.parameters, precision, optimizer);
  if (memory.update > 0) {
    memory.update = element * (units.blocks * units.block + kTurnedMatrices * units.matrix);
  }
  if (compute != element) {
    // A step keeps them, but for an embedding that no product uses.
    memory.casts = compute * (units.parameters - (shape.tied_head ? 0 : units.embedding));
  }
  const KeptLayers kept = KeptLayersOf(shape, units.blocks, division);
  memory.activations = SavedMemory(shape, precision, tokens, division, kept) +
                       SharedBias(shape, sequence, division) * element +
                       DropoutMemory(shape, precision, micro_batch, sequence, division, kept) +
                       ExchangeMemory(shape, precision, int64_t{micro_batch} * sequence, division);
  memory.logits = LogitsMemory(shape, precision, tokens, place, division.tensor);
  return memory;
}

UnitSizes UnitSizesOf(const ModelShape& shape, const WorkDivision& division) {
  UnitSizes units{.parameters = ParameterCountOfPart(shape, division.tensor),
                  .embedding = VocabularyOfPart(shape, division.tensor) * shape.width,
                  .blocks = shape.layers,
                  .matrix = LargestMatrix(shape)};
  const int64_t in_blocks = units.parameters - units.embedding * (shape.tied_head ? 1 : 2);
  units.block = (in_blocks + units.blocks - 1) / units.blocks;
  if (division.stages <= 1) return units;
  units.blocks = (units.blocks + division.stages - 1) / division.stages;
  const int64_t embeddings = division.folded && !shape.tied_head ? 2 : 1;
  units.parameters = units.blocks * units.block + embeddings * units.embedding;
  return units;
}

MemoryEstimate DivideMemory(const MemoryEstimate& whole, const UnitSizes& units, int zero,
                            int shards, const OffloadedParts& offloaded) {
  const bool divides = zero > 0 && shards > 1;
  const auto share = [&](int64_t bytes) { return divides ? (bytes + shards - 1) / shards : bytes; };
  // Returns the bytes, out of `bytes` of all parameters, of so many copies of the embedding's and
  // of so many blocks' as a whole.
  const auto whole_units = [&](int64_t bytes, int64_t embeddings, int64_t blocks) {
    return bytes / units.parameters *
           (embeddings * units.embedding + std::min(blocks, units.blocks) * units.block);
  };
  MemoryEstimate memory = whole;
  memory.optimizer = share(whole.optimizer);
  memory.checkpoint_copy -= whole.optimizer - memory.optimizer;
  const int64_t turned =
      std::min(whole.update, whole.parameters / units.parameters * kTurnedMatrices * units.matrix);
  memory.update = share(whole.update - turned) + turned;
  // Two exchanges are under way at once, each with a buffer of its unit's size, and the memory of
  // the one before them may not be free yet.
  if (divides) memory.gradients += whole_units(whole.gradients, 1, 2);
  if (divides && zero >= 2) {
    // A block's gradient is computed meanwhile.
    memory.gradients = share(whole.gradients) + whole_units(whole.gradients, 2, 5);
  }
  // One block runs while the next is gathered, perhaps through a buffer.
  const int64_t in_use = whole_units(whole.parameters, 2, 4);
  if (divides && zero >= 3) {
    memory.parameters = share(whole.parameters) + in_use;
    memory.checkpoint_copy = share(whole.checkpoint_copy);
  }
  if (offloaded.weights) memory.parameters = std::min(share(whole.parameters), in_use) + in_use;
  if (offloaded.weights || (divides && zero >= 3)) {
    memory.casts = std::min(whole.casts, whole_units(whole.casts, 1, 1));
  }
  // Memory that a unit has used is kept for the next one of its size.
  if (offloaded.optimizer) {
    memory.optimizer = std::min(memory.optimizer, whole_units(whole.optimizer, 1, 1));
  }
  return memory;
}

int64_t MemoryBytes(const ModelShape& shape, Precision precision, int32_t micro_batch,
                    int32_t sequence, OptimizerKind optimizer) {
  return EstimateMemory(shape, precision, micro_batch, sequence, optimizer).Total();
}

}  // namespace muster::planner
