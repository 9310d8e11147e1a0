#ifndef MUSTER_BASE_HASH_H_
#define MUSTER_BASE_HASH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

// XXH3: fast checksums and content keys. It detects accidents, not attackers. Values are the same
// on every machine, so they may be stored.

uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);
// 32 hex digits.
std::string Hash128Hex(std::string_view bytes);
std::string ToHex(uint64_t value);  // 16 digits

// The same value as Hash64 with seed 0 over bytes that come in pieces. Not thread-safe.
class Hasher64 {
 public:
  Hasher64();
  ~Hasher64();
  void Update(std::string_view bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same 128-bit value over bytes that come in pieces. Not thread-safe.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  void Update(std::string_view bytes);
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster

#endif  // MUSTER_BASE_HASH_H_
