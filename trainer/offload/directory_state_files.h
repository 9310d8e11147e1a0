#ifndef MUSTER_TRAINER_OFFLOAD_DIRECTORY_STATE_FILES_H_
#define MUSTER_TRAINER_OFFLOAD_DIRECTORY_STATE_FILES_H_

#include <memory>
#include <string>

#include "base/files/files.h"
#include "trainer/offload/state_file.h"

namespace muster::trainer {

// Files without names in a directory, so that they end with their process, however that ends. On a
// file system that has no such files they are removed as soon as they are open; those whose process
// was killed between the two are removed when the next file is made there. Read and written with
// pread and pwrite, never mapped, so that a disk that fails is an error and no signal. Only their
// owner may read them.
class DirectoryStateFiles final : public StateFiles {
 public:
  // `files` must outlive this. Without `unnamed` it does as on a file system without such files.
  explicit DirectoryStateFiles(Files& files, bool unnamed = true)
      : files_(files), unnamed_(unnamed) {}

  absl::StatusOr<std::unique_ptr<StateFile>> Create(const std::string& directory,
                                                    uint64_t size) override;

 private:
  absl::Status RemoveLeftovers(const std::string& directory);
  absl::StatusOr<int> Open(const std::string& directory) const;

  Files& files_;
  const bool unnamed_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_DIRECTORY_STATE_FILES_H_
