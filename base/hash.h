#ifndef MUSTER_BASE_HASH_H_
#define MUSTER_BASE_HASH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

// XXH3, for checksums and content keys. It detects accidents, not attacks. Values are the same on
// every machine, so they may be stored. So are the values of FNV-1a.

uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);
// Returns 32 hex digits.
std::string Hash128Hex(std::string_view bytes);
std::string ToHex(uint64_t value);  // returns 16 digits

// FNV-1a, 64 bits, for the short texts whose stored or compared values were made with it. To go on
// with a text, give the value of its first part as `hash`.
constexpr uint64_t Fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

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
