#ifndef MUSTER_TRAINER_GENERATE_LANGUAGE_MODEL_H_
#define MUSTER_TRAINER_GENERATE_LANGUAGE_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "c10/core/ScalarType.h"
#include "trainer/data/tokenizer.h"
#include "trainer/model/block.h"

namespace muster::trainer {

// Computes, with the weights of one checkpoint, which tokens may follow others. Dropout is off;
// products are in the type of the weights. Not thread-safe.
class LanguageModel {
 public:
  // `path` is the checkpoint's own directory. Checks every byte that is read. DataLoss if it is
  // incomplete or damaged, InvalidArgument if its model is not known here.
  static absl::StatusOr<std::unique_ptr<LanguageModel>> Open(Files& files, const std::string& path);

  int64_t positions() const { return positions_; }
  int64_t vocabulary() const { return vocabulary_; }
  // Returns the tokenizer of the training; null if it was on token ids.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }

  // Returns the logit, [vocabulary], of each token that could follow `tokens`: 1 to positions() of
  // them, each below vocabulary(), else InvalidArgument. Every call computes the whole sequence.
  absl::StatusOr<std::vector<float>> NextLogits(std::span<const uint32_t> tokens);

 private:
  LanguageModel() = default;

  Model model_;
  c10::ScalarType type_ = c10::ScalarType::Float;
  int64_t positions_ = 0;
  int64_t vocabulary_ = 0;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_GENERATE_LANGUAGE_MODEL_H_
