#ifndef MUSTER_TRAINER_CHECKPOINT_SAFETENSORS_H_
#define MUSTER_TRAINER_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {

// The safetensors format: 8 bytes of little-endian header length, the header as JSON, then the
// tensors' bytes without holes. Offsets here are bytes from the start of the file.

struct StoredTensor {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // by offset
  std::map<std::string, std::string> metadata;
};

// The longest header that is read or written, in bytes.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// Parses untrusted bytes: `prefix` is the file's beginning and holds at least the whole header.
// InvalidArgument if anything does not fit: lengths, types, shapes whose size is not the tensor's,
// overlaps, holes, bytes outside `file_size`.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view prefix,
                                                         uint64_t file_size);
absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const ReadableFile& file);

struct TensorView {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

struct WrittenTensor {
  StoredTensor stored;
  std::vector<uint64_t> checksums;  // of its pieces of `piece_bytes` (pieces.h)
};

struct WrittenSafetensors {
  uint64_t bytes = 0;
  std::string checksum;  // of the whole file, XXH3, 128 bits, hex
  std::vector<WrittenTensor> tensors;
};

// Writes and syncs a new file (AlreadyExists if it is there): wider types first, then by name, so
// every tensor is aligned to its element and equal input gives equal bytes. An error of the file
// system leaves a part of the file.
absl::StatusOr<WrittenSafetensors> WriteSafetensors(
    Files& files, const std::string& path, std::span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata, uint64_t piece_bytes = 0);

// Returns the bytes of a tensor when its turn has come. They are used before the next call.
using TensorBytes =
    std::function<absl::StatusOr<std::span<const std::byte>>(const StoredTensor& tensor)>;

// Writes the same file without holding all tensors in memory. Takes names, types and shapes from
// `tensors`; sizes and offsets follow from them. An error of `bytes` leaves a part of the file,
// too.
absl::StatusOr<WrittenSafetensors> StreamSafetensors(
    Files& files, const std::string& path, std::vector<StoredTensor> tensors,
    const std::map<std::string, std::string>& metadata, const TensorBytes& bytes,
    uint64_t piece_bytes = 0);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_SAFETENSORS_H_
