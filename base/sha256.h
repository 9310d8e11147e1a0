#ifndef MUSTER_BASE_SHA256_H_
#define MUSTER_BASE_SHA256_H_

#include <string>
#include <string_view>

namespace muster {

// Returns the 32 bytes of the digest.
std::string Sha256(std::string_view bytes);

}  // namespace muster

#endif  // MUSTER_BASE_SHA256_H_
