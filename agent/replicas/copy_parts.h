#ifndef MUSTER_AGENT_REPLICAS_COPY_PARTS_H_
#define MUSTER_AGENT_REPLICAS_COPY_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/hash.h"
#include "proto/muster/v1alpha1/replica.pb.h"

// A copy of a rank's state, a checkpoint directory of one writer, as the parts of a stream.
namespace muster::agent {

// Most bytes of a part's data.
inline constexpr size_t kPartBytes = size_t{1} << 20;

// Calls `emit` with the head, the files and the end of the copy in the directory `path`. Stops with
// the first error of `emit`; Aborted once the copy was removed, so that what it takes of the memory
// is freed.
absl::Status SendCopy(Files& files, const std::string& path, const v1alpha1::WorkerId& worker,
                      int local_rank,
                      absl::FunctionRef<absl::Status(const v1alpha1::ReplicaPart&)> emit);

// Names of hidden folders, in which copies arrive, begin so: listings of copies pass over them.
inline constexpr char kArrivingPrefix[] = ".arriving-";

// Receives one copy into a hidden directory beside `target`, and renames it to `target` once it is
// whole and its bytes have the checksums in its manifest. What it received is removed with the
// object if it is not whole. Input may be hostile: names and sizes are bounded. Not thread-safe.
class CopyReceiver {
 public:
  enum class Sync { kNo, kYes };  // whether the copy outlives a crash of the machine once whole

  // `files` must outlive it. Takes the copy that `head` announces if it is of the job `job_uid`;
  // InvalidArgument if the head is malformed.
  static absl::StatusOr<std::unique_ptr<CopyReceiver>> Begin(Files& files,
                                                             const std::string& job_uid,
                                                             const v1alpha1::ReplicaHead& head,
                                                             const std::string& folder,
                                                             Sync sync = Sync::kNo);
  ~CopyReceiver();
  CopyReceiver(const CopyReceiver&) = delete;
  CopyReceiver& operator=(const CopyReceiver&) = delete;

  // Takes the next part after the head. InvalidArgument: the parts contradict each other or the
  // head. DataLoss: the copy is not the one that its manifest describes. After an error nothing
  // more is taken.
  absl::Status Take(const v1alpha1::ReplicaPart& part);
  bool complete() const { return complete_; }
  const std::string& target() const { return target_; }

 private:
  CopyReceiver(Files& files, std::string job_uid, std::string folder, std::string directory,
               int64_t bytes, Sync sync);
  absl::Status Open(const v1alpha1::ReplicaFile& file);
  absl::Status Append(const std::string& bytes);
  absl::Status CloseFile();
  absl::Status Finish();
  absl::Status TakePlace();
  absl::Status Verify() const;

  Files& files_;
  const std::string job_uid_;
  const std::string folder_;
  const Sync sync_;
  const std::string hidden_;  // the folder in which the copy arrives, under its own name
  const std::string arriving_;
  const std::string target_;
  int64_t room_;  // of the bytes that the head announced
  std::unique_ptr<WritableFile> file_;
  std::string name_;
  int64_t missing_ = 0;  // bytes of the open file
  std::unique_ptr<Hasher128> hasher_;
  std::map<std::string, std::string> checksums_;  // of the whole files, by name
  bool complete_ = false;
};

// Copies a whole copy from one folder to another, verified as above; returns its bytes. Calls
// `check` before each part, and stops with its first error.
struct CopyPlace {
  Files& files;
  std::string folder;  // of the rank's copies
};
absl::StatusOr<int64_t> TransferCopy(Files& files, const std::string& path,
                                     const v1alpha1::WorkerId& worker, const CopyPlace& to,
                                     CopyReceiver::Sync sync,
                                     absl::FunctionRef<absl::Status()> check);

// Returns the complete copies in a folder, newest first: a branch that was given up has lower
// attempts. None if it cannot be read.
std::vector<CheckpointListing> CompleteCopies(Files& files, const std::string& folder);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_COPY_PARTS_H_
