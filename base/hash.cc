#include "base/hash.h"

#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace muster {
namespace {

std::string Hex128(XXH128_hash_t hash) { return ToHex(hash.high64) + ToHex(hash.low64); }

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

struct Hasher64::State {
  std::unique_ptr<XXH3_state_t, FreeState> xxh;
};

struct Hasher128::State {
  std::unique_ptr<XXH3_state_t, FreeState> xxh;
};

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string Hash128Hex(std::string_view bytes) {
  return Hex128(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string ToHex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

Hasher64::Hasher64()
    : state_(new State{std::unique_ptr<XXH3_state_t, FreeState>(XXH3_createState())}) {
  XXH3_64bits_reset(state_->xxh.get());
}
Hasher64::~Hasher64() = default;

void Hasher64::Update(std::string_view bytes) {
  XXH3_64bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

uint64_t Hasher64::value() const { return XXH3_64bits_digest(state_->xxh.get()); }

Hasher128::Hasher128()
    : state_(new State{std::unique_ptr<XXH3_state_t, FreeState>(XXH3_createState())}) {
  XXH3_128bits_reset(state_->xxh.get());
}
Hasher128::~Hasher128() = default;

void Hasher128::Update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

std::string Hasher128::Hex() const { return Hex128(XXH3_128bits_digest(state_->xxh.get())); }

}  // namespace muster
