#ifndef MUSTER_TRAINER_DATA_TOKENS_H_
#define MUSTER_TRAINER_DATA_TOKENS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files/files.h"

namespace muster::trainer {

enum class TokenType { kU16, kU32 };
inline constexpr uint64_t TokenBytes(TokenType type) { return type == TokenType::kU16 ? 2 : 4; }

// A read-only run of token ids, 16 or 32 bits each, little-endian, usually mapped from a file that
// it keeps open. Copies share the bytes. Thread-safe. Positions and sizes are tokens.
class Tokens {
 public:
  Tokens() = default;
  // `bytes` must lie in `owner` and be a whole number of tokens.
  Tokens(std::shared_ptr<const MappedFile> owner, std::string_view bytes, TokenType type)
      : owner_(std::move(owner)), bytes_(bytes), type_(type) {}

  uint64_t size() const { return bytes_.size() / TokenBytes(type_); }
  TokenType type() const { return type_; }
  uint32_t at(uint64_t position) const;
  // Copies `into.size()` tokens from `begin`; all must exist.
  void Copy(uint64_t begin, std::span<int64_t> into) const;
  Tokens Slice(uint64_t begin, uint64_t end) const;

 private:
  std::shared_ptr<const MappedFile> owner_;
  std::string_view bytes_;
  TokenType type_ = TokenType::kU16;
};

// Returns 16 hex digits that tell runs of tokens apart: by their length and by tokens from all
// over.
std::string TokensChecksum(const Tokens& tokens);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKENS_H_
