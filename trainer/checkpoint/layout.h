#ifndef MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_
#define MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// The steps on the file system that make a checkpoint, each one call. All are synchronous; not
// thread-safe on one directory. `partial` is the path of the directory that is being written,
// PartialName(). In an object store it is also the checkpoint's final one.

// Returns the name of the directory that `run` writes into, and of the checkpoint that it becomes.
std::string PartialName(const Files& files, const RunRecord& run);
std::string FinalName(const Files& files, const RunRecord& run);

// Returns the name of one writer's file: model-00001-of-00002.safetensors. Numbers in names count
// from 1.
std::string ShareName(const char* group, int writer, int64_t writers);

// Makes the directory of a checkpoint that ranks save without a communicator, and claims one share
// of it: AlreadyExists if another process has claimed that.
absl::Status ClaimShare(Files& files, const std::string& partial, int writer);

// Reports to writer 0 that this writer's share is durable, or that it failed.
absl::Status WriteSidecar(Files& files, const std::string& partial, int writer,
                          const Manifest& part);
absl::Status WriteFailedSidecar(Files& files, const std::string& partial, int writer,
                                const std::string& error);
// NotFound: it is not there yet. Aborted: that writer failed. FailedPrecondition: it is of another
// save.
absl::StatusOr<Manifest> ReadSidecar(Files& files, const std::string& partial, int writer,
                                     const RunRecord& run);

// Adds the records of `part` and joins slices of the same tensor. Call SortManifest at the end.
void JoinManifests(Manifest&& part, Manifest& into);

// Formats Hugging Face's model.safetensors.index.json, which maps each model tensor to its file.
// Returns an empty text if some tensor is in parts, because its readers know whole ones only.
std::string FormatModelIndex(const Manifest& manifest);

// Writes and syncs a document and adds its record.
absl::Status WriteDocument(Files& files, const std::string& partial, const std::string& name,
                           const std::string& contents, Manifest& manifest);

// Writes manifest.json, then DONE, then renames: the directory is a checkpoint once this returns
// OK. AlreadyExists if a newer round has published this step. A directory that stands in the way is
// moved, not deleted: a checkpoint of another run or attempt is abandoned (abandon.h); one that is
// not complete, or the same version saved before, is set aside as `<name>.old.r<round>`. A process
// that dies meanwhile leaves either one, counted. In an
// object store nothing stands in the way and nothing is renamed: the checkpoint is published by
// DONE, and supersedes that of an older round.
absl::Status Publish(Files& files, const std::string& uri, const std::string& partial,
                     const Manifest& manifest);

// Deletes complete checkpoints of the history of `published` beyond the `keep` newest, and
// directories half-written or set aside, up to its step, by older rounds and by older saves of its
// round. Deletes nothing if `published` is not whole (by names and sizes), or if a newer round of
// the job has published anything: then this process is a zombie. Leaves foreign directories alone.
absl::Status Prune(Files& files, const std::string& uri, const RunRecord& published, int keep);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_LAYOUT_H_
