#include "operator/kube/memory/wal_format.h"

#include <cstdint>

#include "base/hash.h"

namespace muster::kube {
namespace {

void PutFixed(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t GetFixed(std::string_view in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  return value;
}

// The length seeds the hash, so that a damaged length is found even when the bytes happen to fit.
uint64_t Checksum(std::string_view payload) { return Hash64(payload, payload.size() + 1); }

}  // namespace

std::string EncodeWalRecord(std::string_view payload) {
  std::string record;
  record.reserve(kWalHeaderBytes + payload.size());
  PutFixed(record, payload.size(), 4);
  PutFixed(record, Checksum(payload), 8);
  record.append(payload);
  return record;
}

std::optional<std::string_view> WalReader::Next() {
  const std::string_view rest = bytes_.substr(at_);
  if (rest.size() < kWalHeaderBytes) return std::nullopt;
  const uint64_t length = GetFixed(rest, 4);
  if (length > kWalMaxPayload || length > rest.size() - kWalHeaderBytes) return std::nullopt;
  const std::string_view payload = rest.substr(kWalHeaderBytes, length);
  if (GetFixed(rest.substr(4), 8) != Checksum(payload)) return std::nullopt;
  at_ += kWalHeaderBytes + length;
  return payload;
}

}  // namespace muster::kube
