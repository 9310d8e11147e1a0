#ifndef MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_
#define MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainer/data/bpe_model.h"

namespace muster::trainer {

// Reads a Hugging Face tokenizer.json: byte-level BPE with GPT-2's pattern, merges as strings or as
// pairs. The bytes are untrusted: InvalidArgument names the fault, or the feature of the format
// that is not supported, so that no text is ever encoded differently from `tokenizers`.
absl::StatusOr<BpeModel> ParseTokenizerJson(std::string_view text);

// Formats a model so that `tokenizers` reads back the same tokenizer. Equal models give equal
// bytes.
std::string FormatTokenizerJson(const BpeModel& model);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_
