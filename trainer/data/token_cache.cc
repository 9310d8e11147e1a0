#include "trainer/data/token_cache.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "trainer/data/cache_file_lock.h"

namespace muster::trainer {
namespace {

// The head of a cache file; the tokens follow it.
struct Header {
  char magic[8];
  uint64_t tokens;
  uint64_t checksum;  // of the token bytes
  uint64_t token_bytes;
};
constexpr char kMagic[8] = {'m', 's', 't', 'r', 't', 'o', 'k', '1'};

class BytesInMemory final : public MappedFile {
 public:
  explicit BytesInMemory(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view bytes() const override { return bytes_; }

 private:
  const std::string bytes_;
};

std::string Pack(std::span<const uint32_t> ids, TokenType type) {
  std::string bytes(ids.size() * TokenBytes(type), '\0');
  if (type == TokenType::kU32) {
    if (!ids.empty()) std::memcpy(bytes.data(), ids.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint16_t narrow = static_cast<uint16_t>(ids[i]);
    std::memcpy(bytes.data() + 2 * i, &narrow, 2);
  }
  return bytes;
}

// Absent if the file is missing or not whole; it is then made again.
std::optional<Tokens> OpenCached(Files& files, const std::string& path, TokenType type) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = files.Map(path);
  if (!file.ok()) return std::nullopt;
  std::string_view bytes = (*file)->bytes();
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.token_bytes != TokenBytes(type) || bytes.size() / TokenBytes(type) != header.tokens ||
      bytes.size() % TokenBytes(type) != 0 || Hash64(bytes) != header.checksum) {
    return std::nullopt;
  }
  return Tokens(*file, bytes, type);
}

absl::Status SaveCached(Files& files, const std::string& path, const std::string& packed,
                        TokenType type) {
  Header header{{}, packed.size() / TokenBytes(type), Hash64(packed), TokenBytes(type)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string contents(reinterpret_cast<const char*>(&header), sizeof header);
  contents += packed;
  return WriteFileAtomically(files, path, contents);
}

Tokens KeepInMemory(std::string packed, TokenType type) {
  auto owner = std::make_shared<const BytesInMemory>(std::move(packed));
  return Tokens(owner, owner->bytes(), type);
}

std::vector<uint32_t> EncodeAll(const Corpus& corpus, const Tokenizer& tokenizer) {
  std::vector<uint32_t> ids;
  for (size_t d = 0; d < corpus.documents.size(); ++d) {
    if (d > 0 && tokenizer.end_of_text().has_value()) ids.push_back(*tokenizer.end_of_text());
    tokenizer.Encode(corpus.documents[d].bytes(), ids);
  }
  return ids;
}

}  // namespace

Tokens TokensInMemory(std::span<const uint32_t> ids, TokenType type) {
  return KeepInMemory(Pack(ids, type), type);
}

absl::StatusOr<Tokens> Tokenize(Files& files, const Corpus& corpus, const Tokenizer& tokenizer,
                                const std::string& cache_directory) {
  const TokenType type = tokenizer.vocabulary() <= 65536 ? TokenType::kU16 : TokenType::kU32;
  if (cache_directory.empty()) return TokensInMemory(EncodeAll(corpus, tokenizer), type);
  const std::string key =
      Hash128Hex(absl::StrCat(corpus.ContentHash(), Hash128Hex(tokenizer.json())));
  const std::string path = JoinPath(cache_directory, absl::StrCat(key, ".tokens"));
  if (std::optional<Tokens> cached = OpenCached(files, path, type)) return *std::move(cached);
  files.MakeDirectories(cache_directory).IgnoreError();
  const CacheFileLock lock(path);
  if (std::optional<Tokens> cached = OpenCached(files, path, type)) return *std::move(cached);
  std::string packed = Pack(EncodeAll(corpus, tokenizer), type);
  if (SaveCached(files, path, packed, type).ok()) {
    if (std::optional<Tokens> cached = OpenCached(files, path, type)) return *std::move(cached);
  }
  return KeepInMemory(std::move(packed), type);
}

}  // namespace muster::trainer
