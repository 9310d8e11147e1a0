#include "trainer/checkpoint/reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Copies a flat range of a box into the whole tensor, one run along the last dimension at a time.
void Scatter(const TensorRecord& tensor, const TensorSlice& slice, const char* from,
             std::byte* into) {
  const size_t dimensions = tensor.shape.size();
  const uint64_t width = ElementBytes(tensor.type);
  const uint64_t row = static_cast<uint64_t>(slice.lengths[dimensions - 1]);
  for (uint64_t at = slice.begin; at < slice.begin + slice.count;) {
    uint64_t rest = at, target = 0, stride = 1;
    for (size_t d = dimensions; d-- > 0;) {
      const uint64_t length = static_cast<uint64_t>(slice.lengths[d]);
      target += (static_cast<uint64_t>(slice.start[d]) + rest % length) * stride;
      rest /= length;
      stride *= static_cast<uint64_t>(tensor.shape[d]);
    }
    const uint64_t run = std::min(row - at % row, slice.begin + slice.count - at);
    std::memcpy(into + target * width, from + (at - slice.begin) * width, run * width);
    at += run;
  }
}

// Returns true for fields that may differ between two runs of one model: they do not shape the
// weights.
bool IsIrrelevant(const std::string& key) {
  return absl::StrContains(key, "pdrop") || absl::StrContains(key, "dropout") ||
         key == "torch_dtype" || key == "dtype" || key == "transformers_version" ||
         key == "initializer_range" || key == "bos_token_id" || key == "eos_token_id";
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(Files& files,
                                                                         const std::string& path) {
  absl::StatusOr<std::string> done = ReadFile(files, JoinPath(path, "DONE"), 4096);
  if (absl::IsNotFound(done.status())) {
    return absl::DataLossError(absl::StrCat(path, ": half-written: ", done.status().message()));
  }
  MUSTER_RETURN_IF_ERROR(done.status());
  MUSTER_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(files, JoinPath(path, "manifest.json"), kMaxManifestBytes));
  if (*done != CheckpointDoneContents(text)) {
    return absl::DataLossError(
        absl::StrCat(path, ": manifest.json is not the one DONE was written for"));
  }
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", manifest.status().message()));
  }
  return std::unique_ptr<CheckpointReader>(new CheckpointReader(files, path, *std::move(manifest)));
}

CheckpointReader::CheckpointReader(Files& files, std::string path, Manifest manifest)
    : files_(files), path_(std::move(path)), manifest_(std::move(manifest)) {}

absl::StatusOr<const ReadableFile*> CheckpointReader::FileNamed(const std::string& name) const {
  MutexLock lock(mu_);
  std::unique_ptr<ReadableFile>& file = open_[name];
  if (file == nullptr) {
    auto opened = files_.Open(JoinPath(path_, name));
    // Something other than a file has that name, which does not mend by itself.
    if (absl::IsFailedPrecondition(opened.status())) {
      return absl::DataLossError(opened.status().message());
    }
    MUSTER_ASSIGN_OR_RETURN(file, std::move(opened));
  }
  return file.get();
}

// Reads all bytes of a slice, and checks them: the checksum is of the whole slice.
absl::Status CheckpointReader::ReadBytes(const TensorRecord& tensor, const TensorSlice& slice,
                                         char* into) const {
  MUSTER_ASSIGN_OR_RETURN(const ReadableFile* file, FileNamed(slice.file));
  const size_t size = slice.count * ElementBytes(tensor.type);
  MUSTER_RETURN_IF_ERROR(file->Read(slice.offset, into, size));
  if (ToHex(Hash64({into, size})) == slice.checksum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, ": ", tensor.name, ": the bytes in ", slice.file,
                                          " at ", slice.offset,
                                          " are not those that were written"));
}

// Copies a slice of a box, a slice with `lengths`, into the whole tensor.
absl::Status CheckpointReader::ReadBox(const TensorRecord& tensor, const TensorSlice& slice,
                                       std::span<std::byte> into) const {
  if (slice.count == 0) return absl::OkStatus();
  std::string bytes(slice.count * ElementBytes(tensor.type), '\0');
  MUSTER_RETURN_IF_ERROR(ReadBytes(tensor, slice, bytes.data()));
  Scatter(tensor, slice, bytes.data(), into.data());
  return absl::OkStatus();
}

// Copies the part of a flat slice that lies in the run of elements from `begin` on.
absl::Status CheckpointReader::ReadFlatPart(const TensorRecord& tensor, const TensorSlice& slice,
                                            uint64_t begin, std::span<std::byte> into) const {
  const uint64_t width = ElementBytes(tensor.type);
  const uint64_t end = begin + into.size() / width;
  const uint64_t first = std::max(begin, slice.begin);
  const uint64_t last = std::min(end, slice.begin + slice.count);
  if (first >= last) return absl::OkStatus();
  char* const target = reinterpret_cast<char*>(into.data() + (first - begin) * width);
  if (last - first == slice.count) return ReadBytes(tensor, slice, target);
  std::string bytes(slice.count * width, '\0');
  MUSTER_RETURN_IF_ERROR(ReadBytes(tensor, slice, bytes.data()));
  std::memcpy(target, bytes.data() + (first - slice.begin) * width, (last - first) * width);
  return absl::OkStatus();
}

absl::StatusOr<const TensorRecord*> CheckpointReader::FindTensor(
    const std::string& name, DataType type, const std::vector<int64_t>& shape) const {
  const TensorRecord* tensor = manifest_.Find(name);
  if (tensor == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": has no tensor ", name));
  }
  if (tensor->type != type || tensor->shape != shape) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, ": ", name, " is ", std::string(Name(tensor->type)), ShapeText(tensor->shape),
        " there, ", std::string(Name(type)), ShapeText(shape), " here"));
  }
  return tensor;
}

absl::Status CheckpointReader::Read(const std::string& name, DataType type,
                                    const std::vector<int64_t>& shape,
                                    std::span<std::byte> into) const {
  MUSTER_ASSIGN_OR_RETURN(const TensorRecord* tensor, FindTensor(name, type, shape));
  const std::optional<uint64_t> count = ElementCount(shape);
  if (!count.has_value() || into.size() != *count * ElementBytes(type)) {
    return absl::InternalError(absl::StrCat(name, ": memory of the wrong size"));
  }
  for (const TensorSlice& slice : tensor->slices) {
    MUSTER_RETURN_IF_ERROR(slice.lengths.empty() ? ReadFlatPart(*tensor, slice, 0, into)
                                                 : ReadBox(*tensor, slice, into));
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::ReadPart(const std::string& name, DataType type,
                                        const std::vector<int64_t>& shape, uint64_t begin,
                                        std::span<std::byte> into) const {
  MUSTER_ASSIGN_OR_RETURN(const TensorRecord* tensor, FindTensor(name, type, shape));
  const uint64_t width = ElementBytes(type);
  const uint64_t whole = ElementCount(shape).value_or(0), count = into.size() / width;
  if (into.size() % width != 0 || begin > whole || count > whole - begin) {
    return absl::InternalError(absl::StrCat(name, ": memory of the wrong size"));
  }
  const bool flat = std::all_of(tensor->slices.begin(), tensor->slices.end(),
                                [](const TensorSlice& slice) { return slice.lengths.empty(); });
  if (!flat && count > 0) {
    std::vector<std::byte> all(whole * width);
    MUSTER_RETURN_IF_ERROR(Read(name, type, shape, all));
    std::memcpy(into.data(), all.data() + begin * width, into.size());
    return absl::OkStatus();
  }
  for (const TensorSlice& slice : tensor->slices) {
    MUSTER_RETURN_IF_ERROR(ReadFlatPart(*tensor, slice, begin, into));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckpointReader::ReadDocument(const std::string& name) const {
  const auto record = std::find_if(manifest_.files.begin(), manifest_.files.end(),
                                   [&name](const FileRecord& file) { return file.name == name; });
  if (record == manifest_.files.end()) {
    return absl::NotFoundError(absl::StrCat(path_, ": has no ", name));
  }
  absl::StatusOr<std::string> contents = ReadFile(files_, JoinPath(path_, name));
  if (absl::IsNotFound(contents.status())) {
    return absl::DataLossError(contents.status().message());
  }
  if (contents.ok() && Hash128Hex(*contents) != record->checksum) {
    return absl::DataLossError(
        absl::StrCat(path_, ": the bytes of ", name, " are not those that were written"));
  }
  return contents;
}

absl::Status CheckCompatible(const RunRecord& saved, const Json& model, int64_t vocabulary,
                             const std::string& tokenizer_checksum) {
  if (saved.vocabulary != vocabulary) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint's vocabulary has ", saved.vocabulary, " tokens, this run's ", vocabulary));
  }
  for (const auto& [key, value] : model.items()) {
    if (IsIrrelevant(key) || !(value.is_number() || value.is_string() || value.is_object()))
      continue;
    const Json there = saved.model.value(key, Json());
    if (there == value) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint is of another model: ", key, " is ",
        there.is_null() ? "absent" : DumpJson(there), " there, ", DumpJson(value), " here"));
  }
  if (saved.tokenizer_checksum != tokenizer_checksum) {
    return absl::FailedPreconditionError(
        "the checkpoint was trained with another tokenizer, which has the same number of tokens "
        "but different ones");
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const Manifest& saved, const std::vector<TensorRecord>& wanted) {
  constexpr char kOther[] = "the checkpoint is of another model or optimizer: ";
  std::set<std::string> known;
  for (const TensorRecord& tensor : wanted) {
    known.insert(tensor.name);
    const TensorRecord* there = saved.Find(tensor.name);
    if (there == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(kOther, "it has no ", tensor.name));
    }
    if (there->type != tensor.type || there->shape != tensor.shape) {
      return absl::FailedPreconditionError(absl::StrCat(
          kOther, tensor.name, " is ", std::string(Name(there->type)), ShapeText(there->shape),
          " there, ", std::string(Name(tensor.type)), ShapeText(tensor.shape), " here"));
    }
  }
  for (const TensorRecord& tensor : saved.tensors) {
    if (known.count(tensor.name) > 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(kOther, "it has ", tensor.name, ", which this run does not have"));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
