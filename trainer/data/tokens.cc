#include "trainer/data/tokens.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/hash.h"

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

std::string TokensChecksum(const Tokens& tokens) {
  constexpr uint64_t kPlaces = 64;
  constexpr uint64_t kEach = 1024;
  Hasher64 hasher;
  const uint64_t size = tokens.size();
  hasher.Update({reinterpret_cast<const char*>(&size), sizeof size});
  std::vector<int64_t> some(std::min(kEach, size));
  for (uint64_t place = 0; place < kPlaces && !some.empty(); ++place) {
    tokens.Copy((size - some.size()) / (kPlaces - 1) * place, some);
    hasher.Update({reinterpret_cast<const char*>(some.data()), some.size() * sizeof(int64_t)});
  }
  return ToHex(hasher.value());
}

}  // namespace muster::trainer
