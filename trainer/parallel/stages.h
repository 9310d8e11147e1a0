#ifndef MUSTER_TRAINER_PARALLEL_STAGES_H_
#define MUSTER_TRAINER_PARALLEL_STAGES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The division of a model's blocks among the stages of a pipeline: each stage has a run of them.
// Pure.
class StageCut {
 public:
  // One stage that has every block.
  StageCut() = default;
  // Cuts blocks with these costs (Block::cost()) so that the largest cost of a stage is as small as
  // possible. If several cuts are equal in this, takes the one that gives early stages the fewest
  // blocks, because early stages keep the most micro-batches. Returns InvalidArgument if `stages`
  // is less than 1 or more than the number of blocks.
  static absl::StatusOr<StageCut> Make(std::span<const int64_t> costs, int stages);

  int stages() const { return static_cast<int>(firsts_.size()); }
  // Returns the first block of a stage; of the stage after the last, the number of blocks there is.
  int first(int stage) const {
    return stage < stages() ? firsts_[static_cast<size_t>(stage)] : blocks_;
  }
  int StageOf(int block) const;
  bool operator==(const StageCut&) const = default;

 private:
  std::vector<int> firsts_ = {0};
  int blocks_ = 1 << 30;  // more than any model has, of a cut that knows none
};

// The order in which a stage of a pipeline runs the passes of micro-batches.
enum class PipelineSchedule {
  // All forward passes, then all backward passes. A stage keeps the activations of all its
  // micro-batches (GPipe; Huang et al., 2019).
  kAllForwardFirst,
  // After a short start, forward and backward passes take turns. Stage s of p keeps the activations
  // of at most p - s micro-batches (1F1B; Narayanan et al., 2019).
  kOneForwardOneBackward,
  // Like 1F1B, but a stage first computes and sends the gradients of its inputs. It computes the
  // gradients of its weights later, when it would wait: stage s puts them off by s micro-batches,
  // so that every stage keeps at most p (ZB-H1; Qi et al., 2023). It puts them off only to the end
  // of the same micro-batch if they are added in a fixed order, and not at all if ranks divide
  // them:
  // then it is 1F1B.
  kZeroBubble,
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_STAGES_H_
