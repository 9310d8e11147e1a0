#include "trainer/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/pieces.h"

namespace muster::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxDimensions = 16;
// The size of a piece that is hashed twice and written while it lies in the core's own cache, so
// that memory is read once.
constexpr size_t kWriteBytes = size_t{256} << 10;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("safetensors: ", what));
}

// Returns the header's own length, checked against the file's.
absl::StatusOr<uint64_t> HeaderLength(std::string_view prefix, uint64_t file_size) {
  if (prefix.size() < kLengthBytes || file_size < kLengthBytes) {
    return Bad(absl::StrCat("the file of ", file_size, " bytes is too short"));
  }
  uint64_t length;
  std::memcpy(&length, prefix.data(), kLengthBytes);
  if (length > kMaxSafetensorsHeader) {
    return Bad(absl::StrCat("a header of ", length, " bytes is over the limit of ",
                            kMaxSafetensorsHeader));
  }
  if (length > file_size - kLengthBytes) {
    return Bad(absl::StrCat("the header of ", length, " bytes reaches past the file's end"));
  }
  return length;
}

absl::StatusOr<std::vector<int64_t>> ReadShape(const Json& json, const std::string& name) {
  if (!json.is_array() || json.size() > kMaxDimensions)
    return Bad(absl::StrCat(name, ": bad shape"));
  std::vector<int64_t> shape;
  for (const Json& dimension : json) {
    if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() > INT64_MAX) {
      return Bad(absl::StrCat(name, ": bad shape"));
    }
    shape.push_back(dimension.get<int64_t>());
  }
  return shape;
}

absl::StatusOr<StoredTensor> ReadTensor(const std::string& name, const Json& json,
                                        uint64_t data_begin, uint64_t data_bytes) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    return Bad(absl::StrCat(name, ": dtype, shape or data_offsets is missing"));
  }
  const Json& type_name = json["dtype"];
  const std::optional<DataType> type =
      type_name.is_string() ? ParseDataType(type_name.get<std::string>()) : std::nullopt;
  if (!type.has_value()) return Bad(absl::StrCat(name, ": unknown dtype"));
  MUSTER_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ReadShape(json["shape"], name));
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return Bad(absl::StrCat(name, ": bad data_offsets"));
  }
  const uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > data_bytes) {
    return Bad(absl::StrCat(name, ": data_offsets lie outside the file"));
  }
  const std::optional<uint64_t> count = ElementCount(shape);
  if (!count.has_value() || *count * ElementBytes(*type) != end - begin) {
    return Bad(absl::StrCat(name, ": shape and dtype do not give its ", end - begin, " bytes"));
  }
  return StoredTensor{name, *type, std::move(shape), data_begin + begin, end - begin};
}

absl::Status ReadMetadata(const Json& json, std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) return Bad("__metadata__ must be an object of strings");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return Bad("__metadata__ must be an object of strings");
    metadata.emplace(key, value.get<std::string>());
  }
  return absl::OkStatus();
}

// Checks that tensors cover the data exactly: no overlap, no hole, nothing after the last.
absl::Status CheckCover(const std::vector<StoredTensor>& tensors, uint64_t begin, uint64_t end) {
  for (const StoredTensor& tensor : tensors) {
    if (tensor.offset < begin) return Bad(absl::StrCat(tensor.name, ": overlaps another tensor"));
    if (tensor.offset > begin) return Bad(absl::StrCat(tensor.name, ": unused bytes before it"));
    begin += tensor.bytes;
  }
  return begin == end ? absl::OkStatus() : Bad("unused bytes at the end");
}

// Puts tensors into the order of the file and sets their sizes, and their offsets from the first.
absl::Status Place(std::vector<StoredTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    const uint64_t width_a = ElementBytes(a.type), width_b = ElementBytes(b.type);
    return width_a != width_b ? width_a > width_b : a.name < b.name;
  });
  std::set<std::string_view> names;
  uint64_t at = 0;
  for (StoredTensor& tensor : tensors) {
    const std::optional<uint64_t> count = ElementCount(tensor.shape);
    if (!count.has_value()) return Bad(absl::StrCat(tensor.name, ": bad shape"));
    if (!names.insert(tensor.name).second) return Bad(absl::StrCat(tensor.name, ": given twice"));
    tensor.offset = at;
    tensor.bytes = *count * ElementBytes(tensor.type);
    at += tensor.bytes;
  }
  return absl::OkStatus();
}

std::string FormatHeader(std::span<const StoredTensor> tensors,
                         const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const StoredTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", std::string(Name(tensor.type))},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.offset, tensor.offset + tensor.bytes}}};
  }
  std::string text = DumpJson(header);
  // Data starts at a multiple of 64 bytes, so that mapped tensors are aligned.
  text.append((64 - (kLengthBytes + text.size()) % 64) % 64, ' ');
  return text;
}

absl::Status NotItsShape(const std::string& name) {
  return Bad(absl::StrCat(name, ": its bytes do not fit its shape"));
}

// Appends to a file and to its checksum. Each call returns the checksums of the pieces that it
// appended.
class Stream {
 public:
  Stream(WritableFile& file, uint64_t piece_bytes) : file_(file), piece_bytes_(piece_bytes) {}
  absl::StatusOr<std::vector<uint64_t>> Append(std::string_view bytes) {
    PieceHasher hasher(piece_bytes_);
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kWriteBytes);
      hasher.Update(part);
      hasher_.Update(part);
      MUSTER_RETURN_IF_ERROR(file_.Append(part));
      bytes_ += part.size();
      bytes.remove_prefix(part.size());
    }
    return hasher.Finish();
  }
  uint64_t bytes() const { return bytes_; }
  std::string checksum() const { return hasher_.Hex(); }

 private:
  WritableFile& file_;
  const uint64_t piece_bytes_;
  Hasher128 hasher_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view prefix,
                                                         uint64_t file_size) {
  MUSTER_ASSIGN_OR_RETURN(const uint64_t length, HeaderLength(prefix, file_size));
  if (length > prefix.size() - kLengthBytes) return Bad("the header was not read whole");
  absl::StatusOr<Json> json =
      ParseUniqueJson(prefix.substr(kLengthBytes, length), kMaxSafetensorsHeader);
  if (!json.ok()) return Bad(absl::StrCat("header: ", json.status().message()));
  if (!json->is_object()) return Bad("the header must be an object");
  const uint64_t data_begin = kLengthBytes + length;
  SafetensorsHeader header;
  for (const auto& [name, value] : json->items()) {
    if (name == "__metadata__") {
      MUSTER_RETURN_IF_ERROR(ReadMetadata(value, header.metadata));
      continue;
    }
    MUSTER_ASSIGN_OR_RETURN(StoredTensor tensor,
                            ReadTensor(name, value, data_begin, file_size - data_begin));
    header.tensors.push_back(std::move(tensor));
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  MUSTER_RETURN_IF_ERROR(CheckCover(header.tensors, data_begin, file_size));
  return header;
}

absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const ReadableFile& file) {
  std::string prefix(std::min<uint64_t>(kLengthBytes, file.size()), '\0');
  MUSTER_RETURN_IF_ERROR(file.Read(0, prefix.data(), prefix.size()));
  MUSTER_ASSIGN_OR_RETURN(const uint64_t length, HeaderLength(prefix, file.size()));
  prefix.resize(kLengthBytes + length);
  MUSTER_RETURN_IF_ERROR(file.Read(kLengthBytes, prefix.data() + kLengthBytes, length));
  return ParseSafetensorsHeader(prefix, file.size());
}

absl::StatusOr<WrittenSafetensors> WriteSafetensors(
    Files& files, const std::string& path, std::span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata, uint64_t piece_bytes) {
  std::vector<StoredTensor> stored;
  std::map<std::string_view, std::span<const std::byte>> bytes;
  for (const TensorView& tensor : tensors) {
    const std::optional<uint64_t> count = ElementCount(tensor.shape);
    if (!count.has_value() || *count * ElementBytes(tensor.type) != tensor.bytes.size()) {
      return NotItsShape(tensor.name);
    }
    stored.push_back({tensor.name, tensor.type, tensor.shape});
    bytes.emplace(tensor.name, tensor.bytes);
  }
  return StreamSafetensors(
      files, path, std::move(stored), metadata,
      [&bytes](const StoredTensor& tensor) { return bytes.at(tensor.name); }, piece_bytes);
}

absl::StatusOr<WrittenSafetensors> StreamSafetensors(
    Files& files, const std::string& path, std::vector<StoredTensor> tensors,
    const std::map<std::string, std::string>& metadata, const TensorBytes& bytes,
    uint64_t piece_bytes) {
  MUSTER_RETURN_IF_ERROR(Place(tensors));
  const std::string header = FormatHeader(tensors, metadata);
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                          files.Create(path, CreateMode::kExclusive));
  Stream stream(*file, piece_bytes);
  const uint64_t length = header.size();
  MUSTER_RETURN_IF_ERROR(
      stream.Append({reinterpret_cast<const char*>(&length), sizeof length}).status());
  MUSTER_RETURN_IF_ERROR(stream.Append(header).status());
  WrittenSafetensors written;
  for (StoredTensor& tensor : tensors) {
    tensor.offset = stream.bytes();
    MUSTER_ASSIGN_OR_RETURN(const std::span<const std::byte> all, bytes(tensor));
    if (all.size() != tensor.bytes) return NotItsShape(tensor.name);
    MUSTER_ASSIGN_OR_RETURN(std::vector<uint64_t> checksums,
                            stream.Append({reinterpret_cast<const char*>(all.data()), all.size()}));
    written.tensors.push_back({std::move(tensor), std::move(checksums)});
  }
  MUSTER_RETURN_IF_ERROR(file->Sync());
  MUSTER_RETURN_IF_ERROR(file->Close());
  written.bytes = stream.bytes();
  written.checksum = stream.checksum();
  return written;
}

}  // namespace muster::trainer
