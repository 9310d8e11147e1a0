#ifndef MUSTER_TRAINER_OFFLOAD_STATE_FILE_H_
#define MUSTER_TRAINER_OFFLOAD_STATE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::trainer {

// A private file of fixed size that lives as long as this object. It begins with zeros, and its
// space is reserved, so that no write finds the disk full. Contents have no checksums, because the
// file does not outlive the process. Thread-safe for disjoint runs of bytes. Sizes and offsets are
// in bytes.
class StateFile {
 public:
  virtual ~StateFile() = default;
  virtual uint64_t size() const = 0;
  // Both return OutOfRange beyond the end, and Unavailable if the disk fails; some of the bytes may
  // be read or written then.
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> into) const = 0;
  virtual absl::Status Write(uint64_t offset, std::span<const std::byte> from) = 0;
};

// The seam to the disk that state is kept on. DirectoryStateFiles is the real one;
// MemoryStateFiles is a fake that can be full and fail on request. Thread-safe.
class StateFiles {
 public:
  virtual ~StateFiles() = default;
  // Makes a file of `size` in `directory`, which is made if it does not exist. ResourceExhausted,
  // with the bytes needed and available, if the disk has no room for it.
  virtual absl::StatusOr<std::unique_ptr<StateFile>> Create(const std::string& directory,
                                                            uint64_t size) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_STATE_FILE_H_
