#ifndef MUSTER_BASE_SECRETS_H_
#define MUSTER_BASE_SECRETS_H_

#include <string>
#include <string_view>

// Programs prove to each other with these that they know a secret. All functions are thread-safe.
namespace muster {

inline constexpr size_t kSecretBytes = 32;

// Returns bytes from the kernel's random number generator, which cannot be guessed.
std::string RandomSecret();

// Returns the 32 bytes of HMAC-SHA256.
std::string HmacSha256(std::string_view key, std::string_view text);

// Compares in a time that does not tell where the two differ.
bool SecretsEqual(std::string_view a, std::string_view b);

}  // namespace muster

#endif  // MUSTER_BASE_SECRETS_H_
