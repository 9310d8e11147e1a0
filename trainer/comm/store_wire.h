#ifndef MUSTER_TRAINER_COMM_STORE_WIRE_H_
#define MUSTER_TRAINER_COMM_STORE_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The messages between a store's client and server over TCP. Pure. Before the first one, each side
// proves to the other that it knows the round's secret, without revealing it:
//   server: nonce      client: nonce, proof      server: proof
// From then on each message is sealed, so that a change, a repetition or a loss on the way is
// detected:
//   length of the message, message, seal
// with one answer per request:
//   request: operation, length of key, key, value               answer: found, value
// Lengths are 32-bit little-endian.

enum class StoreOperation : uint8_t { kSet = 1, kGet = 2, kAdd = 3 };

struct StoreRequest {
  StoreOperation operation = StoreOperation::kGet;
  std::string key, value;
};
struct StoreAnswer {
  bool found = false;
  std::string value;
};

// A longer message is refused: addresses of ranks are a few hundred bytes each.
inline constexpr uint32_t kMaxStoreMessage = 1 << 24;
inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kSealBytes = 16;

std::string Encode(const StoreRequest& request);
std::string Encode(const StoreAnswer& answer);
// Absent if the message is malformed.
std::optional<StoreRequest> DecodeStoreRequest(std::string_view message);
std::optional<StoreAnswer> DecodeStoreAnswer(std::string_view message);

// Both sides of a connection derive these from the secret and their nonces.
struct StoreKeys {
  std::string client_proof, server_proof;
  std::string to_server, to_client;  // the keys of the seals
};
StoreKeys DeriveStoreKeys(std::string_view secret, std::string_view server_nonce,
                          std::string_view client_nonce);

// Seals the messages of one direction, or opens them, in their order.
class StoreSeal {
 public:
  explicit StoreSeal(std::string key) : key_(std::move(key)) {}
  std::string Seal(std::string_view message);
  // Takes the next message off the front of `in`; absent if it has not arrived whole. Fails if the
  // message is too long or its seal is broken; nothing after it can be read then.
  absl::StatusOr<std::optional<std::string>> Open(std::string_view& in);

 private:
  std::string SealOf(std::string_view message);

  const std::string key_;
  uint64_t count_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_STORE_WIRE_H_
