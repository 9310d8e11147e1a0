#ifndef MUSTER_TRAINER_PARALLEL_UNIT_LAYOUT_H_
#define MUSTER_TRAINER_PARALLEL_UNIT_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/model/parameter.h"
#include "trainer/model/partition.h"
#include "trainer/parallel/stages.h"

namespace muster::trainer {

// The place of each parameter in flat memory. Pure. Sizes are elements unless a name says bytes.

// Units are cut into chunks of this many elements, whatever the world size: every statistic is a
// per-chunk partial and every slice a run of whole chunks.
inline constexpr int64_t kChunkElements = 4096;
// Tensors start at multiples of 64 bytes of the narrowest parameter type (4 bytes).
inline constexpr int64_t kTensorAlignment = 16;
// Returns the smallest multiple of `to` that is not less than `x`. Requires x >= 0 and to > 0.
inline int64_t RoundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

struct UnitTensor {
  ParameterSpec spec;          // of the whole tensor
  std::vector<int64_t> shape;  // of this rank's part
  int64_t offset = 0;
  int64_t size = 0;  // of the part
};

// The unit in which parameters are reduced, gathered and applied. Padding is at a tensor's end and
// at the unit's end, and always zero.
struct UnitLayout {
  std::string name;
  // Each rank of the tensor axis has a part of every tensor here; otherwise each has them whole,
  // and its gradients are one rank's share of a sum over the axis.
  bool is_part = false;
  // Blocks whose backward adds to this unit's gradient, ascending. The gradient of a micro-batch is
  // final after the backward of users.front(), the last to run.
  std::vector<int> users;
  // The stages of the pipeline that have them, ascending: the ranks of each have the unit, and if
  // there are two, their gradients are summed.
  std::vector<int> stages = {0};
  // The users that are blocks of this rank's stage. Without any, the rank does not have the unit:
  // it has no tensors here, and no elements.
  std::vector<int> own_users;
  // Tensors under weight decay come first, so the unit is two runs at most.
  std::vector<UnitTensor> tensors;
  int64_t decay_elements = 0;
  int64_t elements = 0;        // a multiple of kChunkElements
  int64_t earlier_chunks = 0;  // of the unit in the parts before this one; 0 unless is_part
  // The unit's chunks in each part of the model; one number for all of them unless is_part. They
  // count on every stage.
  std::vector<int64_t> chunks_of_parts;

  bool IsOfStage(int stage) const {
    return std::binary_search(stages.begin(), stages.end(), stage);
  }
  int64_t chunks() const { return elements / kChunkElements; }
  int64_t all_chunks() const {
    return std::accumulate(chunks_of_parts.begin(), chunks_of_parts.end(), int64_t{0});
  }
};

struct ParameterPlace {
  int unit = 0;
  int tensor = 0;
};

struct ModelLayout {
  std::vector<UnitLayout> units;
  // The places of each block's parameters, in the order of parameters(); none of blocks of other
  // stages.
  std::vector<std::vector<ParameterPlace>> places;
};

struct BlockParameters {
  std::string block;
  std::vector<ParameterSpec> parameters;
};

// Makes one unit per block that has parameters of its own, and one per tensor that several blocks
// share. Where a model has several parts, the tensors of a block that its ranks hold whole are a
// second unit. All stages of a pipeline have the same units in the same order. InvalidArgument if
// blocks disagree about a shared tensor, if one block declares a name twice, if a tensor cannot be
// divided into part.count parts, or if other stages than the first and the last share one.
absl::StatusOr<ModelLayout> LayOutModel(const std::vector<BlockParameters>& blocks,
                                        ModelPart part = {}, const StageCut& cut = {},
                                        int stage = 0);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_UNIT_LAYOUT_H_
