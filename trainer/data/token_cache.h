#ifndef MUSTER_TRAINER_DATA_TOKEN_CACHE_H_
#define MUSTER_TRAINER_DATA_TOKEN_CACHE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "trainer/data/corpus.h"
#include "trainer/data/tokenizer.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {

// Returns the corpus as tokens: documents one after the other, with end-of-text between them if
// there are several and the tokenizer has one. If there is a `cache_directory`, they are encoded
// once and mapped from there afterwards: the file is named after its inputs (contents and
// tokenizer), written atomically and checked when opened. If several ranks of a machine do this at
// once, one encodes and the others wait for its file. A cache that cannot be written costs time,
// never the run.
absl::StatusOr<Tokens> Tokenize(Files& files, const Corpus& corpus, const Tokenizer& tokenizer,
                                const std::string& cache_directory);

// Packs token ids into memory.
Tokens TokensInMemory(std::span<const uint32_t> ids, TokenType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKEN_CACHE_H_
