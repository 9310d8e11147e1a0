#ifndef MUSTER_TRAINER_PARALLEL_STAGES_H_
#define MUSTER_TRAINER_PARALLEL_STAGES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The runs of blocks that a stage of a pipeline has, called its chunks.
enum class StageForm {
  // Stage s of p has the runs s, s + p, s + 2p, ...: one, or as many as there are chunks.
  kInTurn,
  // Stage s has the runs s and 2p - 1 - s: the first stage has the first and the last of all.
  kFolded,
};

// The division of a model's blocks among the stages of a pipeline. The blocks are cut into runs of
// neighbours, one for each chunk of each stage. Pure.
class StageCut {
 public:
  // One stage that has every block.
  StageCut() = default;
  // Cuts blocks with these costs (Block::cost()) so that the largest cost of a run is as small as
  // possible. If several cuts are equal in this, takes the one that gives early runs the fewest
  // blocks, because early stages keep the most micro-batches. Returns InvalidArgument if `stages`
  // or `chunks` is less than 1, or if there are more runs than blocks. kFolded requires two chunks.
  static absl::StatusOr<StageCut> Make(std::span<const int64_t> costs, int stages, int chunks = 1,
                                       StageForm form = StageForm::kInTurn);

  int stages() const { return stages_; }
  // Returns the number of runs of each stage.
  int chunks() const { return runs() / stages_; }
  int runs() const { return static_cast<int>(firsts_.size()); }
  // Returns the first block of a run. For the run after the last, returns the number of blocks.
  int first(int run) const { return run < runs() ? firsts_[static_cast<size_t>(run)] : blocks_; }
  StageForm form() const { return form_; }
  int StageOfRun(int run) const {
    return form_ == StageForm::kFolded && run >= stages_ ? runs() - 1 - run : run % stages_;
  }
  int RunOf(int stage, int chunk) const {
    return form_ == StageForm::kFolded && chunk > 0 ? runs() - 1 - stage : chunk * stages_ + stage;
  }
  int RunOfBlock(int block) const;
  int StageOf(int block) const { return StageOfRun(RunOfBlock(block)); }
  bool operator==(const StageCut&) const = default;

 private:
  std::vector<int> firsts_ = {0};  // by run
  int stages_ = 1;
  StageForm form_ = StageForm::kInTurn;
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
  // them: then it is 1F1B.
  kZeroBubble,
  // 1F1B with several runs of blocks for each stage. Micro-batches come in groups of about
  // p, and a group passes through one run of a stage after the other. With v chunks the idle time
  // is
  // that of 1F1B divided by v, and the first stage keeps the activations of (v + 1) p - 1 passes
  // through a run (Narayanan et al., 2021, section 2.2).
  kInterleaved,
  // The zero-bubble schedule of folded stages (ZB-V; Qi et al., 2023, section 6). A stage runs a
  // backward pass when it can, else a forward pass when it keeps fewer than 2p passes through a
  // chunk, else it computes gradients of weights. It keeps as much as the first stage does with
  // 1F1B, and waits about half as long as with ZB-H1. Where ranks divide gradients, the backward
  // passes are whole.
  kZeroBubbleV,
};

// Returns the fewest chunks with which a schedule is what it is.
inline int FewestChunks(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kInterleaved || schedule == PipelineSchedule::kZeroBubbleV
             ? 2
             : 1;
}
// Returns how a schedule wants the chunks of stages.
inline StageForm FormOf(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleV ? StageForm::kFolded : StageForm::kInTurn;
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_STAGES_H_
