#ifndef MUSTER_TRAINER_DATA_DATASET_H_
#define MUSTER_TRAINER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "trainer/data/tokenizer.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {

struct DatasetOptions {
  enum class Format { kText, kBytes, kTokens };
  enum class TokenizerKind { kByte, kBpe };

  std::string path;
  Format format = Format::kText;
  TokenType token_type = TokenType::kU16;  // of format kTokens
  TokenizerKind tokenizer = TokenizerKind::kByte;
  std::string tokenizer_path;         // kBpe: a tokenizer.json; empty: one is trained on the data
  uint32_t tokenizer_vocabulary = 0;  // kBpe, trained: its size; 0: 8192
  double validation = 0.0;            // the share at the end kept for validation, [0, 0.5]
  int64_t sequence = 0;               // tokens; the data must hold at least one window
  // The directory that keeps token files and trained tokenizers between starts; empty: none.
  std::string cache_directory;
};

// The data of a run. Equal options and contents give equal tokens on every rank, with or without
// the cache.
struct Dataset {
  Tokens training;
  Tokens validation;                     // empty when none is kept
  std::unique_ptr<Tokenizer> tokenizer;  // null for format kTokens without a tokenizer_path
  // Ids are below this. 0 for format kTokens without a tokenizer_path: only the model has a
  // vocabulary. Opening does not scan such files: see CheckTokenIds().
  uint32_t vocabulary = 0;
  // Hashes the names below `path`, the sizes and the contents of the files of text, and the
  // tokenizer.
  uint64_t sources = 0;
  // The file that the tokens are mapped from if the format is kTokens; empty for other formats,
  // whose tokens cannot change.
  std::string token_file;
  // Entropy of single tokens, in nats per token, at the beginning of the validation part, or of the
  // training part if no data is kept for validation: the loss of a model that ignores the context.
  // A model that learned anything is below it.
  double unigram_entropy = 0.0;
};

absl::StatusOr<Dataset> OpenDataset(Files& files, const DatasetOptions& options);

// Returns the entropy of single tokens in nats, over the first four million.
double UnigramEntropy(const Tokens& tokens);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_DATASET_H_
