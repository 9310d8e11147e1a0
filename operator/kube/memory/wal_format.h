#ifndef MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::kube {

// A record: length (4 bytes), checksum of length and payload (8 bytes), payload; little-endian.
inline constexpr size_t kWalHeaderBytes = 12;
inline constexpr size_t kWalMaxPayload = size_t{64} << 20;

std::string EncodeWalRecord(std::string_view payload);

// Reads records until the first that is cut or damaged: nothing after it can be trusted. Safe on
// any bytes; `bytes` must outlive it and what Next returns.
class WalReader {
 public:
  explicit WalReader(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::string_view> Next();
  // Bytes of whole records so far. After Next has returned nothing, size - good_bytes() is the
  // tail.
  size_t good_bytes() const { return at_; }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_WAL_FORMAT_H_
