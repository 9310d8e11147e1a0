#include "trainer/data/tokens.h"

#include <bit>
#include <cstring>

namespace muster::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

template <typename T>
void CopyAs(const char* from, std::span<int64_t> into) {
  for (int64_t& value : into) {
    T token;
    std::memcpy(&token, from, sizeof token);
    value = token;
    from += sizeof token;
  }
}

}  // namespace

uint32_t Tokens::at(uint64_t position) const {
  int64_t value = 0;
  Copy(position, {&value, 1});
  return static_cast<uint32_t>(value);
}

void Tokens::Copy(uint64_t begin, std::span<int64_t> into) const {
  const char* from = bytes_.data() + begin * TokenBytes(type_);
  if (type_ == TokenType::kU16) {
    CopyAs<uint16_t>(from, into);
  } else {
    CopyAs<uint32_t>(from, into);
  }
}

Tokens Tokens::Slice(uint64_t begin, uint64_t end) const {
  const uint64_t width = TokenBytes(type_);
  return Tokens(owner_, bytes_.substr(begin * width, (end - begin) * width), type_);
}

}  // namespace muster::trainer
