#ifndef MUSTER_TRAINER_CHECKPOINT_EXPORT_H_
#define MUSTER_TRAINER_CHECKPOINT_EXPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"

namespace muster::trainer {

struct ExportedModel {
  int64_t step = 0;
  size_t tensors = 0;
  uint64_t bytes = 0;  // of the tensors
  size_t shards = 0;   // files of tensors
};

// Writes the model of the complete checkpoint in the directory `checkpoint` of `from` as Hugging
// Face's transformers reads it: config.json, tokenizer.json if there is one, and the weights whole,
// without the optimizer's state, in model.safetensors or in shards with an index. A shard has at
// most `max_shard_bytes` of tensors, or one tensor. One tensor at a time is in memory, and all that
// is read is checked against its checksum.
//
// `out`, a directory of `files`, must not exist or be an empty directory (else AlreadyExists). It
// appears at the end, by a rename of `out`.partial, which an error removes. After a crash
// `out`.partial stays, and another export to `out` fails until somebody has removed it
// (FailedPrecondition). DataLoss if a part of the checkpoint is missing or not what was written;
// ResourceExhausted if there is no space.
absl::StatusOr<ExportedModel> ExportModel(Files& from, const std::string& checkpoint, Files& files,
                                          const std::string& out, uint64_t max_shard_bytes);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_EXPORT_H_
