#ifndef MUSTER_TRAINER_COMM_STORE_WIRE_H_
#define MUSTER_TRAINER_COMM_STORE_WIRE_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace muster::trainer {

// The messages between a store's client and server over TCP, one answer per request:
//   request: length, operation, length of key, key, value       answer: length, found, value
// Lengths are 32-bit little-endian; the first counts the bytes after it. Pure.

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
constexpr uint32_t kMaxStoreMessage = 1 << 24;

inline void AppendLength(std::string& out, size_t length) {
  const auto value = static_cast<uint32_t>(length);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

inline uint32_t ReadLength(std::string_view in) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<uint8_t>(in[i])) << 8 * i;
  return value;
}

inline std::string Encode(const StoreRequest& request) {
  std::string out;
  AppendLength(out, 5 + request.key.size() + request.value.size());
  out.push_back(static_cast<char>(request.operation));
  AppendLength(out, request.key.size());
  return out + request.key + request.value;
}

inline std::string Encode(const StoreAnswer& answer) {
  std::string out;
  AppendLength(out, 1 + answer.value.size());
  out.push_back(answer.found ? 1 : 0);
  return out + answer.value;
}

// Decodes a message without its first length; absent if it is malformed.
inline std::optional<StoreRequest> DecodeStoreRequest(std::string_view in) {
  if (in.size() < 5) return std::nullopt;
  const auto operation = static_cast<uint8_t>(in[0]);
  const uint32_t key = ReadLength(in.substr(1));
  if (operation < 1 || operation > 3 || key > in.size() - 5) return std::nullopt;
  return StoreRequest{static_cast<StoreOperation>(operation), std::string(in.substr(5, key)),
                      std::string(in.substr(5 + key))};
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_STORE_WIRE_H_
