#ifndef MUSTER_OPERATOR_KUBE_PROTO_WIRE_WRITER_H_
#define MUSTER_OPERATOR_KUBE_PROTO_WIRE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

// Encodes Protocol Buffers and an API server's envelopes and frames by hand, for tests.
namespace muster::kube {

inline std::string WireVarint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string WireInt(uint32_t number, uint64_t value) {
  return WireVarint(uint64_t{number} << 3) + WireVarint(value);
}

inline std::string WireBytes(uint32_t number, std::string_view bytes) {
  return WireVarint(uint64_t{number} << 3 | 2) + WireVarint(bytes.size()) + std::string(bytes);
}

inline std::string WireEntry(uint32_t number, std::string_view key, std::string_view value) {
  return WireBytes(number, WireBytes(1, key) + WireBytes(2, value));
}

// Returns "k8s\0", type and bytes, as servers send an object or list.
inline std::string WireEnvelope(std::string_view kind, std::string_view object) {
  return std::string("k8s\0", 4) + WireBytes(1, WireBytes(1, "v1") + WireBytes(2, kind)) +
         WireBytes(2, object) + WireBytes(3, "") + WireBytes(4, "");
}

inline std::string WireMeta(std::string_view name, std::string_view version) {
  return WireBytes(1, name) + WireBytes(2, "") + WireBytes(3, "ns") + WireBytes(6, version);
}

inline std::string WirePod(std::string_view name, std::string_view version,
                           std::string_view more = "") {
  return WireBytes(1, WireMeta(name, version)) + std::string(more);
}

// Returns one frame of a watch.
inline std::string WireEvent(std::string_view type, std::string_view envelope) {
  const std::string event = WireBytes(1, type) + WireBytes(2, WireBytes(1, envelope));
  std::string frame;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(event.size() >> shift & 0xff);
  return frame + event;
}

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_WIRE_WRITER_H_
