#include "base/random_name.h"

#include <cstdint>
#include <random>

#include "base/hash.h"

namespace muster {

std::string RandomName() {
  std::random_device random;
  return ToHex((uint64_t{random()} << 32) | random());
}

}  // namespace muster
