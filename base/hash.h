#ifndef MUSTER_BASE_HASH_H_
#define MUSTER_BASE_HASH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

// XXH3, for checksums and content keys. It detects accidents, not attacks. Values are the same on
// every machine, so they may be stored.

uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);
// Returns 32 hex digits.
std::string Hash128Hex(std::string_view bytes);
std::string ToHex(uint64_t value);  // returns 16 digits

// Computes Hash64 with seed 0 over bytes that come in pieces. Not thread-safe.
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

// Computes the 128-bit hash over bytes that come in pieces. Not thread-safe.
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
