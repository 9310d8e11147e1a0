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
#include "base/checkpoint/checkpoint_share.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/slice_elements.h"

namespace muster::trainer {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// The bytes that are read together, where a file holds them together: enough to keep a disk busy,
// and few enough to be hashed before they leave the caches.
constexpr uint64_t kReadBytes = uint64_t{4} << 20;

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
  absl::StatusOr<std::string> done = ReadFile(files, JoinPath(path, kDoneName), 4096);
  if (absl::IsNotFound(done.status())) {
    return absl::DataLossError(absl::StrCat(path, ": half-written: ", done.status().message()));
  }
  MUSTER_RETURN_IF_ERROR(done.status());
  MUSTER_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(files, JoinPath(path, kManifestName), kMaxManifestBytes));
  if (*done != CheckpointDoneContents(text)) {
    return absl::DataLossError(
        absl::StrCat(path, ": manifest.json is not the one DONE was written for"));
  }
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) {
    return absl::Status(manifest.status().code(),
                        absl::StrCat(path, ": ", manifest.status().message()));
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

// Reads the pieces of a slice from byte `first`, where one begins, to byte `last` of the slice, and
// checks them.
absl::Status CheckpointReader::ReadPieces(const TensorRecord& tensor, const TensorSlice& slice,
                                          uint64_t first, uint64_t last, char* into) const {
  const absl::StatusOr<const ReadableFile*> opened = FileNamed(slice.file);
  if (!opened.ok()) {
    const std::string share = WriterOfShare(slice.file);
    const std::string writer = share.empty() ? "" : absl::StrCat(", which ", share, " saved");
    return absl::Status(opened.status().code(),
                        absl::StrCat(path_, ": ", tensor.name, ": cannot read ", slice.file, writer,
                                     ": ", opened.status().message()));
  }
  const ReadableFile* file = *opened;
  MUSTER_RETURN_IF_ERROR(file->Read(slice.offset + first, into, last - first));
  const uint64_t piece = PieceBytes(tensor, slice);
  for (uint64_t at = first; at < last; at += piece) {
    const uint64_t bytes = std::min(piece, last - at);
    if (Hash64({into + (at - first), bytes}) == slice.checksums[at / piece]) continue;
    const std::string share = WriterOfShare(slice.file);
    return absl::DataLossError(absl::StrCat(
        path_, ": ", tensor.name, ": the bytes in ", slice.file, " at ", slice.offset + at,
        " are not those that were written", share.empty() ? "" : absl::StrCat(" by ", share)));
  }
  return absl::OkStatus();
}

// Fills `into` with the bytes of a slice from `begin` on. Reads no piece that has none of them.
absl::Status CheckpointReader::ReadBytes(const TensorRecord& tensor, const TensorSlice& slice,
                                         uint64_t begin, std::span<char> into) const {
  const uint64_t size = slice.count * ElementBytes(tensor.type);
  const uint64_t piece = PieceBytes(tensor, slice), end = begin + into.size();
  const uint64_t together = std::max(piece, kReadBytes / piece * piece);
  std::string rest;  // of a piece that is not wanted whole
  for (uint64_t at = begin; at < end;) {
    const uint64_t first = at / piece * piece;
    const uint64_t whole = end == size ? size : end / piece * piece;
    char* const target = into.data() + (at - begin);
    if (first == at && whole > at) {
      const uint64_t last = std::min(whole, at + together);
      MUSTER_RETURN_IF_ERROR(ReadPieces(tensor, slice, at, last, target));
      at = last;
      continue;
    }
    const uint64_t last = std::min(first + piece, size), wanted = std::min(last, end);
    rest.resize(last - first);
    MUSTER_RETURN_IF_ERROR(ReadPieces(tensor, slice, first, last, rest.data()));
    std::memcpy(target, rest.data() + (at - first), wanted - at);
    at = wanted;
  }
  return absl::OkStatus();
}

// Copies what a slice holds of the run of the wanted elements from `begin` on.
absl::Status CheckpointReader::ReadSlice(const TensorRecord& tensor, const TensorSlice& slice,
                                         const Stripes& wanted, uint64_t begin,
                                         std::span<std::byte> into) const {
  const uint64_t width = ElementBytes(tensor.type), count = into.size() / width;
  if (count == 0 || !MayMeet(tensor, slice, wanted)) return absl::OkStatus();
  const ElementRange run =
      RunInSlice(tensor, slice, {wanted.PlaceOf(begin), wanted.PlaceOf(begin + count - 1) + 1});
  if (run.size() == 0) return absl::OkStatus();
  const uint64_t from = (run.begin - slice.begin) * width, bytes = run.size() * width;
  if (slice.box.whole() && wanted.stride == wanted.length) {
    char* const target = reinterpret_cast<char*>(into.data() + (run.begin - begin) * width);
    return ReadBytes(tensor, slice, from, {target, bytes});
  }
  const uint64_t together = std::max(PieceBytes(tensor, slice), kReadBytes);
  std::string window;
  for (uint64_t at = from; at < from + bytes;) {
    const uint64_t last = std::min(from + bytes, (at / together + 1) * together);
    window.resize(last - at);
    MUSTER_RETURN_IF_ERROR(ReadBytes(tensor, slice, at, window));
    CopyFromSlice(tensor, slice, {slice.begin + at / width, slice.begin + last / width},
                  window.data(), wanted, begin, into);
    at = last;
  }
  return absl::OkStatus();
}

uint64_t CheckpointReader::PieceBytes(const TensorRecord& tensor, const TensorSlice& slice) const {
  return manifest_.piece_bytes != 0
             ? manifest_.piece_bytes
             : std::max(uint64_t{1}, slice.count * ElementBytes(tensor.type));
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
  MUSTER_RETURN_IF_ERROR(FindTensor(name, type, shape).status());
  const std::optional<uint64_t> count = ElementCount(shape);
  if (!count.has_value() || into.size() != *count * ElementBytes(type)) {
    return absl::InternalError(absl::StrCat(name, ": memory of the wrong size"));
  }
  return ReadPart(name, type, shape, 0, into);
}

absl::Status CheckpointReader::ReadPart(const std::string& name, DataType type,
                                        const std::vector<int64_t>& shape, uint64_t begin,
                                        std::span<std::byte> into) const {
  const uint64_t whole = std::max(ElementCount(shape).value_or(0), uint64_t{1});
  return ReadStripes(name, type, shape, {.stride = whole, .length = whole}, begin, into);
}

absl::Status CheckpointReader::ReadStripes(const std::string& name, DataType type,
                                           const std::vector<int64_t>& shape,
                                           const Stripes& stripes, uint64_t begin,
                                           std::span<std::byte> into) const {
  MUSTER_ASSIGN_OR_RETURN(const TensorRecord* tensor, FindTensor(name, type, shape));
  const uint64_t width = ElementBytes(type), whole = ElementCount(shape).value_or(0);
  const bool inside = stripes.length > 0 && stripes.begin + stripes.length <= stripes.stride &&
                      (whole == 0 || whole % stripes.stride == 0);
  const uint64_t all = inside ? whole / stripes.stride * stripes.length : 0;
  const uint64_t count = into.size() / width;
  if (!inside || into.size() % width != 0 || begin > all || count > all - begin) {
    return absl::InternalError(absl::StrCat(name, ": memory of the wrong size"));
  }
  for (const TensorSlice& slice : tensor->slices) {
    MUSTER_RETURN_IF_ERROR(ReadSlice(*tensor, slice, stripes, begin, into));
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
