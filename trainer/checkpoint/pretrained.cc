#include "trainer/checkpoint/pretrained.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr char kWhole[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr size_t kMostNamed = 8;
// The bytes that are read at a time if they must be converted.
constexpr size_t kPieceBytes = size_t{1} << 20;

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Names the file in an error of its contents; the file system's errors name it already.
absl::Status Prefixed(const std::string& path, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
}

// Returns the name without the prefix of the model inside a language model.
std::string WithoutPrefix(const std::string& name) {
  for (const char* prefix : {"transformer.", "model."}) {
    if (absl::StartsWith(name, prefix)) return std::string(absl::StripPrefix(name, prefix));
  }
  return name;
}

// Returns true for tensors that are not weights: masks and frequencies that older versions of
// transformers saved, and the copy of the embedding in a tied head. Only a tensor that the model
// does not have may be one.
bool IsBuffer(const std::string& name) {
  const std::string path = absl::StrCat(".", name);
  return absl::EndsWith(path, ".attn.bias") || absl::EndsWith(path, ".attn.masked_bias") ||
         absl::EndsWith(path, ".rotary_emb.inv_freq") || name == "lm_head.weight";
}

// Joins the first of many sentences, and counts the rest.
std::string Joined(std::vector<std::string> all) {
  const size_t rest = all.size() - std::min(all.size(), kMostNamed);
  all.resize(all.size() - rest);
  std::string text = absl::StrJoin(all, "; ");
  if (rest > 0) absl::StrAppend(&text, "; and ", rest, " more");
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PretrainedWeights>> PretrainedWeights::Open(
    Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const FileInfo info, files.Stat(path));
  if (info.kind != FileKind::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a directory"));
  }
  std::unique_ptr<PretrainedWeights> weights(new PretrainedWeights(files, path));
  MUSTER_RETURN_IF_ERROR(weights->ReadConfig());
  MUSTER_RETURN_IF_ERROR(weights->ReadHeaders());
  return weights;
}

absl::Status PretrainedWeights::ReadConfig() {
  const std::string file = JoinPath(path_, "config.json");
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files_, file));
  absl::StatusOr<Json> config = ParseUniqueJson(text);
  if (!config.ok()) return Prefixed(file, config.status());
  config_ = *std::move(config);
  return absl::OkStatus();
}

// Where both are there, transformers reads the one file too.
absl::Status PretrainedWeights::ReadHeaders() {
  if (Exists(files_, JoinPath(path_, kWhole))) return ReadHeader(kWhole, {});
  const std::string file = JoinPath(path_, kIndex);
  const absl::StatusOr<std::string> text = ReadFile(files_, file);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        path_, ": has neither ", kWhole, " nor ", kIndex,
        "; where weights are in another format, save_pretrained of transformers writes this one"));
  }
  MUSTER_RETURN_IF_ERROR(text.status());
  const absl::StatusOr<WeightIndex> index = ParseWeightIndex(*text);
  if (!index.ok()) return Prefixed(file, index.status());
  std::set<std::string> names;
  for (const auto& [tensor, name] : *index) names.insert(name);
  for (const std::string& name : names) MUSTER_RETURN_IF_ERROR(ReadHeader(name, *index));
  for (const auto& [tensor, name] : *index) {
    if (tensors_.contains(tensor)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": says that ", tensor, " is in ", name, ", which does not have it"));
  }
  return absl::OkStatus();
}

// Adds the file's tensors, but for those that the index finds in another one.
absl::Status PretrainedWeights::ReadHeader(const std::string& file, const WeightIndex& index) {
  const std::string path = JoinPath(path_, file);
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> opened, files_.Open(path));
  absl::StatusOr<SafetensorsHeader> header = ReadSafetensorsHeader(*opened);
  if (!header.ok()) return Prefixed(path, header.status());
  for (StoredTensor& tensor : header->tensors) {
    const auto found = index.find(tensor.name);
    if (found != index.end() && found->second != file) continue;
    std::string name = tensor.name;
    const auto [at, is_new] =
        tensors_.try_emplace(std::move(name), Stored{std::move(tensor), file, opened->size()});
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": has the tensor ", at->first, ", as ",
                                                   at->second.file, " has; ", kIndex,
                                                   " must say which of them counts"));
  }
  for (const auto& [name, other] : header->metadata) {
    if (tensors_.contains(other)) AlsoUnder(name, other);
  }
  return absl::OkStatus();
}

void PretrainedWeights::AlsoUnder(const std::string& name, const std::string& other) {
  other_names_.emplace(name, other);
}

const PretrainedWeights::Stored* PretrainedWeights::Find(const std::string& name) const {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) found = tensors_.find(WithoutPrefix(name));
  if (found != tensors_.end()) return &found->second;
  auto other = other_names_.find(name);
  if (other == other_names_.end()) other = other_names_.find(WithoutPrefix(name));
  if (other == other_names_.end()) return nullptr;
  found = tensors_.find(other->second);
  return found == tensors_.end() ? nullptr : &found->second;
}

absl::Status PretrainedWeights::Check(std::span<const WantedTensor> wanted) const {
  std::vector<std::string> missing, wrong, unknown;
  std::set<std::string> used;
  for (const WantedTensor& tensor : wanted) {
    const Stored* stored = Find(tensor.name);
    if (stored == nullptr) {
      missing.push_back(tensor.name);
      continue;
    }
    used.insert(stored->tensor.name);
    if (stored->tensor.shape != tensor.shape) {
      wrong.push_back(absl::StrCat(stored->tensor.name, " is ", ShapeText(stored->tensor.shape),
                                   " there, ", ShapeText(tensor.shape), " here"));
    } else if (!IsFloatingPoint(stored->tensor.type)) {
      wrong.push_back(absl::StrCat(stored->tensor.name, " is of type ",
                                   std::string(trainer::Name(stored->tensor.type)),
                                   ", want F64, F32, F16 or BF16"));
    }
  }
  for (const auto& [name, stored] : tensors_) {
    if (!used.contains(name) && !IsBuffer(name)) unknown.push_back(name);
  }
  std::vector<std::string> faults;
  if (!missing.empty()) faults.push_back(absl::StrCat("it has no ", Joined(std::move(missing))));
  if (!wrong.empty()) faults.push_back(Joined(std::move(wrong)));
  if (!unknown.empty()) {
    faults.push_back(absl::StrCat("this model has no ", Joined(std::move(unknown))));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": the tensors are not those of the model: ", absl::StrJoin(faults, "; ")));
}

absl::Status PretrainedWeights::ReadPart(const std::string& name, DataType type,
                                         const std::vector<int64_t>& shape, uint64_t begin,
                                         std::span<std::byte> into) const {
  const Stored* stored = Find(name);
  if (stored == nullptr || stored->tensor.shape != shape || !IsFloatingPoint(stored->tensor.type)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": has no numbers ", name, ShapeText(shape)));
  }
  const uint64_t width = ElementBytes(type), there = ElementBytes(stored->tensor.type);
  const uint64_t whole = ElementCount(shape).value_or(0), count = into.size() / width;
  if (into.size() % width != 0 || begin > whole || count > whole - begin) {
    return absl::InternalError(absl::StrCat(name, ": memory of the wrong size"));
  }
  const std::string path = JoinPath(path_, stored->file);
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files_.Open(path));
  if (file->size() != stored->file_bytes) {
    return absl::DataLossError(absl::StrCat(path, ": has ", file->size(), " bytes now, and had ",
                                            stored->file_bytes, " when its header was read"));
  }
  const uint64_t offset = stored->tensor.offset + begin * there;
  if (stored->tensor.type == type) {
    return file->Read(offset, reinterpret_cast<char*>(into.data()), into.size());
  }
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, count * there));
  for (uint64_t done = 0; done < count;) {
    const uint64_t now = std::min<uint64_t>(kPieceBytes / there, count - done);
    MUSTER_RETURN_IF_ERROR(
        file->Read(offset + done * there, reinterpret_cast<char*>(piece.data()), now * there));
    ConvertNumbers(stored->tensor.type, std::span(piece).first(now * there), type,
                   into.subspan(done * width, now * width));
    done += now;
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
