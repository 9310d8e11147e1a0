#ifndef MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_
#define MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// The steps on the file system by which a checkpoint comes to be, each one call. All are
// synchronous; not thread-safe on one directory. `partial` is the path of `step-%09d.r<round>`.

// Files of one writer: model-00001-of-00002.safetensors. Numbers in names count from 1.
std::string ShareName(const char* group, int writer, int64_t writers);

// A writer's word to writer 0: its share is durable, or it failed.
absl::Status WriteSidecar(Files& files, const std::string& partial, int writer,
                          const Manifest& part);
absl::Status WriteFailedSidecar(Files& files, const std::string& partial, int writer,
                                const std::string& error);
// NotFound: not there yet. Aborted: that writer failed. FailedPrecondition: of another save.
absl::StatusOr<Manifest> ReadSidecar(Files& files, const std::string& partial, int writer,
                                     const RunRecord& run);

// Adds the records of `part`; slices of the same tensor are joined. Call SortManifest at the end.
void JoinManifests(Manifest&& part, Manifest& into);
void SortManifest(Manifest& manifest);

// Hugging Face's model.safetensors.index.json: which file holds each model tensor.
std::string FormatModelIndex(const Manifest& manifest);

// Writes and syncs a document and records it.
absl::Status WriteDocument(Files& files, const std::string& partial, const std::string& name,
                           const std::string& contents, Manifest& manifest);

// manifest.json, then DONE, then the name: the directory is a checkpoint once this returned OK.
// AlreadyExists when a newer round has published this step. What stands in the way is never lost: a
// checkpoint of another run or attempt is abandoned (abandon.h); what is not complete, and the same
// version saved before, is set aside as `<name>.old.r<round>`.
absl::Status Publish(Files& files, const std::string& uri, const std::string& partial,
                     const Manifest& manifest);

// Deletes complete checkpoints of the history of `published` beyond the `keep` newest, once it was
// verified, and what older rounds, and older saves of its round, left half-written up to its step.
// Directories that are not ours are left alone.
absl::Status Prune(Files& files, const std::string& uri, const RunRecord& published, int keep);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_
