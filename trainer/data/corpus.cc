#include "trainer/data/corpus.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/data/token_check.h"
#include "trainer/data/unicode_classes.h"

namespace muster::trainer {
namespace {

constexpr int kMaxDepth = 32;
// mkfs makes it in the root of a volume, for the root user alone.
constexpr char kLostAndFound[] = "lost+found";

absl::Status Collect(Files& files, const std::string& path, int depth,
                     std::vector<std::string>& found) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": more than ", kMaxDepth, " directories deep; does a link lead back to a parent?"));
  }
  MUSTER_ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, files.List(path));
  for (const DirectoryEntry& entry : entries) {
    if (entry.name[0] == '.' || entry.name == kLostAndFound) continue;
    const std::string child = JoinPath(path, entry.name);
    if (entry.kind == FileKind::kFile) found.push_back(child);
    if (entry.kind == FileKind::kDirectory) {
      MUSTER_RETURN_IF_ERROR(Collect(files, child, depth + 1, found));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckText(const Document& document) {
  const std::optional<size_t> bad = FirstInvalidUtf8(document.bytes());
  const size_t zero = document.bytes().find('\0');
  if (!bad.has_value() && zero == std::string_view::npos) return absl::OkStatus();
  const size_t at = bad.has_value() ? std::min(*bad, zero) : zero;
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: not UTF-8 text: byte %d is 0x%02X; use data.format Bytes for binary files",
      document.name, at, static_cast<unsigned char>(document.bytes()[at])));
}

// Returns true if the first lines of a document are JSON objects, one a line.
bool IsJsonLines(std::string_view text) {
  constexpr size_t kMostLine = 1 << 20;
  constexpr int kLines = 4;
  int lines = 0;
  while (lines < kLines && !text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const size_t first = whole.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    const std::string_view line = whole.substr(first);
    if (line.front() != '{') return false;
    const absl::StatusOr<Json> json = ParseJson(line, kMostLine);
    if (!json.ok() || !json->is_object()) return false;
    ++lines;
  }
  return lines > 0;
}

// A few files of JSON belong to a corpus of code; as the corpus itself they would be learned with
// their braces and keys.
absl::Status CheckNotJson(const Corpus& corpus) {
  uint64_t json_bytes = 0;
  const Document* first = nullptr;
  for (const Document& document : corpus.documents) {
    if (!IsJsonLines(document.bytes())) continue;
    json_bytes += document.bytes().size();
    if (first == nullptr) first = &document;
  }
  if (json_bytes <= corpus.bytes() / 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      first->name,
      ": is JSON, one object a line, which would be trained on with its braces and keys; write the "
      "text alone into files, one for each document, or set data.format to Bytes to train on it as "
      "it is"));
}

}  // namespace

uint64_t Corpus::bytes() const {
  uint64_t total = 0;
  for (const Document& document : documents) total += document.bytes().size();
  return total;
}

std::string Corpus::ContentHash() const {
  Hasher128 hasher;
  for (const Document& document : documents) {
    // The length goes first, so that no two lists of documents hash alike.
    hasher.Update(absl::StrCat(document.bytes().size(), ":"));
    hasher.Update(document.bytes());
  }
  return hasher.Hex();
}

absl::StatusOr<Corpus> OpenCorpus(Files& files, const std::string& path, TextFormat format) {
  MUSTER_ASSIGN_OR_RETURN(const FileInfo info, files.Stat(path));
  std::vector<std::string> names = {path};
  if (info.kind == FileKind::kDirectory) {
    names.clear();
    MUSTER_RETURN_IF_ERROR(Collect(files, path, 0, names));
    if (names.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": holds no files"));
  }
  Corpus corpus;
  for (const std::string& name : names) {
    MUSTER_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, files.Map(name));
    if (file->bytes().empty()) continue;
    corpus.documents.push_back({name, std::move(file)});
    if (format == TextFormat::kText) MUSTER_RETURN_IF_ERROR(CheckText(corpus.documents.back()));
  }
  if (corpus.documents.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  if (format == TextFormat::kText) MUSTER_RETURN_IF_ERROR(CheckNotJson(corpus));
  return corpus;
}

absl::StatusOr<Tokens> OpenTokenFile(Files& files, const std::string& path, TokenType type) {
  MUSTER_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, files.Map(path));
  const std::string_view bytes = file->bytes();
  if (bytes.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  if (absl::Status known = CheckTokenBytes(bytes, type); !known.ok()) {
    return absl::Status(known.code(), absl::StrCat(path, ": ", known.message()));
  }
  if (bytes.size() % TokenBytes(type) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", bytes.size(),
                                                   " bytes are not a whole number of ",
                                                   TokenBytes(type), "-byte tokens"));
  }
  return Tokens(std::move(file), bytes, type);
}

}  // namespace muster::trainer
