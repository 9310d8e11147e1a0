// Replays the write-ahead file of the embedded API server from any bytes: no crash, and the result
// is stable: the valid prefix replays to the same objects, and so does a snapshot of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/object_rules.h"
#include "operator/kube/memory/store_log.h"
#include "operator/kube/memory/wal_format.h"

namespace muster::kube {
namespace {

constexpr size_t kHistory = 100;

std::string SnapshotOf(const MemoryStore& store) {
  std::string bytes;
  const absl::Status written = WriteSnapshotOf(store, [&](std::string_view record) {
    bytes += EncodeWalRecord(record);
    return absl::OkStatus();
  });
  if (!written.ok()) std::abort();
  return bytes;
}

// Returns the length of the valid prefix, or nullopt if a record was refused.
std::optional<size_t> Replay(std::string_view bytes, bool from_snapshot, MemoryStore& store) {
  StoreLoader loader(store);
  WalReader reader(bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    if (!loader.Replay(*record, from_snapshot).ok()) return std::nullopt;
  }
  if (!loader.Finish().ok()) return std::nullopt;
  return reader.good_bytes();
}

void Check(std::string_view bytes, bool from_snapshot) {
  MemoryStore store(BuiltinResources(), kHistory);
  const std::optional<size_t> good = Replay(bytes, from_snapshot, store);
  if (!good.has_value()) return;
  MemoryStore again(BuiltinResources(), kHistory);
  if (Replay(bytes.substr(0, *good), from_snapshot, again) != good) std::abort();
  const std::string snapshot = SnapshotOf(store);
  if (SnapshotOf(again) != snapshot) std::abort();
  MemoryStore restored(BuiltinResources(), kHistory);
  if (Replay(snapshot, true, restored) != snapshot.size()) std::abort();
  if (SnapshotOf(restored) != snapshot) std::abort();
}

// Makes each line of the input a record, because the fuzzer cannot guess checksums.
std::string Framed(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    bytes += EncodeWalRecord(text.substr(0, newline));
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return bytes;
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool from_snapshot = (data[0] & 1) != 0;
  muster::kube::Check(bytes, from_snapshot);
  muster::kube::Check(muster::kube::Framed(bytes), from_snapshot);
  return 0;
}
