#ifndef MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::kube {

// The layout of a record, little-endian: length (4 bytes), checksum of length and payload (8
// bytes), payload.
inline constexpr size_t kWalHeaderBytes = 12;
inline constexpr size_t kWalMaxPayload = size_t{64} << 20;

std::string EncodeWalRecord(std::string_view payload);

// Reads records up to the first truncated or damaged one; nothing after it can be trusted. Safe on
// any bytes. `bytes` must outlive the reader and the records that Next returns.
class WalReader {
 public:
  explicit WalReader(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::string_view> Next();
  // Returns the bytes of complete records so far. After Next has returned nothing, the tail has
  // size - good_bytes() bytes.
  size_t good_bytes() const { return at_; }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_
