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
  // Cuts blocks of these costs so that the costliest stage costs as little as it can; of such cuts
  // it is the one whose earlier stages have the fewest blocks, for these keep more micro-batches.
  // InvalidArgument if there are fewer blocks than stages.
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
  // Every forward pass, then every backward pass: what they keep grows with the micro-batches
  // (GPipe; Huang et al., 2019).
  kAllForwardFirst,
  // A backward pass as soon as there is one, and forward passes no further ahead than it takes to
  // fill the stages behind: a stage keeps what as many micro-batches need as stages are left (1F1B;
  // Narayanan et al., 2019).
  kOneForwardOneBackward,
  // The same, but a stage passes the gradients of its inputs back before it computes those of its
  // weights, with which it fills the time in which it would wait (ZB-H1; Qi et al., 2023). Where
  // the gradients of one micro-batch must be whole before those of the next begin, they are not put
  // off further than that.
  kZeroBubble,
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_STAGES_H_
