#include "trainer/checkpoint/export.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/layout.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/weight_index.h"

namespace muster::trainer {
namespace {

constexpr char kConfig[] = "config.json";
constexpr char kTokenizer[] = "tokenizer.json";

struct Shard {
  std::string file;
  std::vector<StoredTensor> tensors;
};

// The weights of an export, divided into files.
struct Plan {
  std::vector<Shard> shards;
  ExportedModel model;
};

// Fills one shard after the other with the weights in the order of their names.
Plan MakePlan(const Manifest& manifest, uint64_t max_shard_bytes) {
  Plan plan;
  plan.model.step = manifest.run.step;
  uint64_t filled = 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    if (!IsWeight(tensor)) continue;
    const uint64_t bytes = ElementCount(tensor.shape).value_or(0) * ElementBytes(tensor.type);
    if (plan.shards.empty() || filled > max_shard_bytes || bytes > max_shard_bytes - filled) {
      plan.shards.emplace_back();
      filled = 0;
    }
    plan.shards.back().tensors.push_back({tensor.name, tensor.type, tensor.shape, 0, bytes});
    filled += bytes;
    plan.model.bytes += bytes;
    ++plan.model.tensors;
  }
  const size_t count = plan.model.shards = plan.shards.size();
  for (size_t i = 0; i < count; ++i) {
    plan.shards[i].file =
        count == 1 ? "model.safetensors"
                   : ShareName("model", static_cast<int>(i), static_cast<int64_t>(count));
  }
  return plan;
}

std::string FormatIndex(const Plan& plan) {
  WeightIndex index;
  for (const Shard& shard : plan.shards) {
    for (const StoredTensor& tensor : shard.tensors) index[tensor.name] = shard.file;
  }
  return FormatWeightIndex(index, plan.model.bytes);
}

// Returns true if nothing is there, or an empty directory.
absl::StatusOr<bool> IsFree(Files& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) return true;
  MUSTER_RETURN_IF_ERROR(info.status());
  if (info->kind != FileKind::kDirectory) return false;
  MUSTER_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.List(path));
  return entries.empty();
}

absl::Status LeftOver(const std::string& partial) {
  return absl::FailedPreconditionError(
      absl::StrCat(partial,
                   " is there, from an export that was interrupted or is still running; "
                   "remove it once none runs"));
}

// Makes the directory `partial` this export's own: of several exports, one creates config.json.
absl::Status Claim(Files& files, const std::string& partial, const Manifest& manifest) {
  MUSTER_ASSIGN_OR_RETURN(const bool free, IsFree(files, partial));
  if (!free) return LeftOver(partial);
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(partial));
  const absl::Status created =
      CreateExclusive(files, JoinPath(partial, kConfig), DumpJson(manifest.run.model, 2));
  if (absl::IsAlreadyExists(created)) return LeftOver(partial);
  if (!created.ok()) RemoveAll(files, partial).IgnoreError();
  return created;
}

absl::Status CheckSpace(Files& files, const std::string& directory, uint64_t bytes) {
  MUSTER_ASSIGN_OR_RETURN(const uint64_t free, files.FreeBytes(directory));
  if (bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(directory, ": the weights have ", bytes,
                                                   " bytes, and only ", free, " bytes are free"));
}

absl::Status WriteShard(Files& files, const CheckpointReader& reader, const std::string& directory,
                        const Shard& shard) {
  std::vector<std::byte> buffer;
  const auto read = [&](const StoredTensor& tensor) -> absl::StatusOr<std::span<const std::byte>> {
    buffer.resize(tensor.bytes);
    MUSTER_RETURN_IF_ERROR(reader.Read(tensor.name, tensor.type, tensor.shape, buffer));
    return std::span<const std::byte>(buffer);
  };
  return StreamSafetensors(files, JoinPath(directory, shard.file), shard.tensors,
                           {{"format", "pt"}}, read)
      .status();
}

// Writes everything but config.json into `directory`.
absl::Status Write(Files& files, const CheckpointReader& reader, const std::string& directory,
                   const Plan& plan) {
  MUSTER_RETURN_IF_ERROR(CheckSpace(files, directory, plan.model.bytes));
  for (const Shard& shard : plan.shards) {
    MUSTER_RETURN_IF_ERROR(WriteShard(files, reader, directory, shard));
  }
  if (plan.shards.size() > 1) {
    MUSTER_RETURN_IF_ERROR(CreateExclusive(
        files, JoinPath(directory, "model.safetensors.index.json"), FormatIndex(plan)));
  }
  const absl::StatusOr<std::string> tokenizer = reader.ReadDocument(kTokenizer);
  if (!absl::IsNotFound(tokenizer.status())) {
    MUSTER_RETURN_IF_ERROR(tokenizer.status());
    MUSTER_RETURN_IF_ERROR(CreateExclusive(files, JoinPath(directory, kTokenizer), *tokenizer));
  }
  return files.SyncDirectory(directory);
}

}  // namespace

absl::StatusOr<ExportedModel> ExportModel(Files& from, const std::string& checkpoint, Files& files,
                                          const std::string& out, uint64_t max_shard_bytes) {
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(from, checkpoint));
  const Plan plan = MakePlan(reader->manifest(), max_shard_bytes);
  if (plan.shards.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(checkpoint, ": has no weights"));
  }
  MUSTER_ASSIGN_OR_RETURN(const bool free, IsFree(files, out));
  if (!free) {
    return absl::AlreadyExistsError(
        absl::StrCat(out, " is there already; name a directory that is new or empty"));
  }
  // A slash at the end of `out` must not put the partial directory into it.
  const std::string parent = ParentPath(out), target = JoinPath(parent, BaseName(out));
  const std::string partial = absl::StrCat(target, ".partial");
  MUSTER_RETURN_IF_ERROR(Claim(files, partial, reader->manifest()));
  absl::Status written = Write(files, *reader, partial, plan);
  if (written.ok()) written = files.Rename(partial, target);
  if (!written.ok()) {
    RemoveAll(files, partial).IgnoreError();
    return written;
  }
  MUSTER_RETURN_IF_ERROR(files.SyncDirectory(parent));
  return plan.model;
}

}  // namespace muster::trainer
