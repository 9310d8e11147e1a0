#ifndef MUSTER_TRAINER_DATA_CORPUS_H_
#define MUSTER_TRAINER_DATA_CORPUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {

enum class TextFormat { kText, kBytes };

struct Document {
  std::string name;  // path of its file
  std::shared_ptr<const MappedFile> file;
  std::string_view bytes() const { return file->bytes(); }
};

// A file, or every file below a directory in the order of their paths (hidden ones and lost+found
// left out), mapped. One file is one document; documents are never empty.
struct Corpus {
  std::vector<Document> documents;

  uint64_t bytes() const;
  // Hashes contents and document boundaries, but not names.
  std::string ContentHash() const;
};

// Opens a corpus; with kText every document is checked to be UTF-8. Every error has the path:
// NotFound, or InvalidArgument if it is empty, with the offset and value of the first byte that is
// not text, or if most of it is JSON with the text inside.
absl::StatusOr<Corpus> OpenCorpus(Files& files, const std::string& path, TextFormat format);

// Opens a file of raw little-endian token ids. Refuses what CheckTokenBytes() knows to be none.
absl::StatusOr<Tokens> OpenTokenFile(Files& files, const std::string& path, TokenType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_CORPUS_H_
