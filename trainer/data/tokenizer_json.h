#ifndef MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_
#define MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainer/data/bpe_model.h"

namespace muster::trainer {

// Reads a Hugging Face tokenizer.json: byte-level BPE with GPT-2's pattern, merges as strings or as
// pairs. Untrusted bytes: InvalidArgument says what is wrong, or which feature of the format is not
// supported, before anything could be encoded differently from `tokenizers`.
absl::StatusOr<BpeModel> ParseTokenizerJson(std::string_view text);

// What `tokenizers` reads back as the same tokenizer. Equal models give equal bytes.
std::string FormatTokenizerJson(const BpeModel& model);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKENIZER_JSON_H_
