#ifndef MUSTER_TRAINER_DATA_TOKEN_CHECK_H_
#define MUSTER_TRAINER_DATA_TOKEN_CHECK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {

// Look at a file of token ids before a model is trained on them, which would learn nonsense, or
// fail hours later. Both return InvalidArgument with what is wrong and what would be right; the
// caller adds the file's name.

// Refuses contents that are known to be none: a file of another kind (llm.c, NumPy, ...), text, and
// numbers of another width than `type`.
absl::Status CheckTokenBytes(std::string_view bytes, TokenType type);

// Refuses ids that `vocabulary` does not have. Reads all of up to half a billion tokens; of more it
// reads as many, in blocks from all over.
absl::Status CheckTokenIds(const Tokens& tokens, int64_t vocabulary);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKEN_CHECK_H_
