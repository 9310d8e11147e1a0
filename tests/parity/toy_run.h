#ifndef MUSTER_TESTS_PARITY_TOY_RUN_H_
#define MUSTER_TESTS_PARITY_TOY_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "planner/model_shape.h"
#include "trainer/data/batch_feed.h"
#include "trainer/engine/state/training_state.h"

// The run that the parity tests repeat in PyTorch, and on ranks that divide it: a small model of
// each family, its options and its data.
namespace muster::trainer {

inline constexpr int64_t kToySteps = 30, kToyVocabulary = 96;
inline constexpr int64_t kToyBatch = 12;     // sequences
inline constexpr int64_t kToySequence = 32;  // tokens

struct ToyRun {
  planner::ModelFamily family = planner::ModelFamily::kGpt2;
  std::string precision = "fp64";   // or fp32, bf16, fp16, fp8
  std::string optimizer = "adamw";  // or lamb, muon, sgd
  bool deterministic = false;       // gradients are added in an order that no layout changes
};

planner::ModelShape ToyShape(planner::ModelFamily family);

// Returns the options of a run whose steps are cut into so many micro-batches, which must divide
// kToyBatch. A step has the same sequences however they are cut.
TrainingOptions ToyOptions(const ToyRun& run, int64_t micro_batches);

// Feeds sentences from a small seeded grammar, so that there is something to learn and no two steps
// are alike. Their ends have no labels, so that ranks have unequal numbers of valid tokens.
class GrammarFeed : public BatchFeed {
 public:
  // `rows` is the number of sequences of a micro-batch, which have `sequence` tokens each, of the
  // first `symbols` of a vocabulary.
  explicit GrammarFeed(int64_t rows, int64_t sequence = kToySequence,
                       int64_t symbols = kToyVocabulary)
      : rows_(rows), sequence_(sequence), symbols_(symbols) {}

  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition& place) override;
  absl::StatusOr<MicroBatch> Validation(int64_t index) override;

 private:
  const int64_t rows_, sequence_, symbols_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_TOY_RUN_H_
