#include "base/object_store/s3_files.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_store/s3_upload.h"
#include "base/status_macros.h"

namespace muster {
namespace {

absl::StatusOr<ObjectUri> Parse(const std::string& path) {
  absl::StatusOr<ObjectUri> at = ParseObjectUri(path);
  if (at.ok()) return at;
  return absl::Status(at.status().code(), absl::StrCat(path, ": ", at.status().message()));
}

// Returns what the keys of a directory's contents begin with.
std::string PrefixOf(const ObjectUri& at) { return at.key.empty() ? "" : at.key + "/"; }

class S3ReadableFile final : public ReadableFile {
 public:
  S3ReadableFile(std::shared_ptr<S3Client> client, std::shared_ptr<BlockCache> cache, ObjectUri at,
                 const S3Client::Object& object)
      : cache_(std::move(cache)), at_(std::move(at)) {
    file_->size = object.size;
    file_->fetch = [client = std::move(client), at = at_, etag = object.etag](uint64_t begin,
                                                                              uint64_t size) {
      return client->Get(at.bucket, at.key, etag, begin, size);
    };
  }
  ~S3ReadableFile() override { cache_->Forget(*file_); }

  uint64_t size() const override { return file_->size; }
  absl::Status Read(uint64_t offset, char* into, size_t size) const override {
    if (offset > file_->size || size > file_->size - offset) {
      return absl::OutOfRangeError(absl::StrCat(ToText(at_), ": ends at byte ", file_->size));
    }
    return cache_->Read(file_, offset, into, size);
  }

 private:
  const std::shared_ptr<BlockCache> cache_;
  const ObjectUri at_;
  const std::shared_ptr<BlockCache::File> file_ = std::make_shared<BlockCache::File>();
};

class CopiedFile final : public MappedFile {
 public:
  explicit CopiedFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view bytes() const override { return bytes_; }

 private:
  const std::string bytes_;
};

// Adds the entry of `directory` that `key` is, or is in.
void AddEntry(const std::string& key, const std::string& prefix, std::optional<uint64_t> size,
              std::map<std::string, DirectoryEntry>& entries) {
  if (!key.starts_with(prefix) || key.size() == prefix.size()) return;
  const std::string rest = key.substr(prefix.size());
  const size_t slash = rest.find('/');
  const std::string name = rest.substr(0, slash);
  if (slash != std::string::npos) {
    entries[name] = {name, FileKind::kDirectory};
  } else if (size.has_value()) {
    entries[name] = {name, FileKind::kFile, size};
  }
}

}  // namespace

S3Files::S3Files(std::unique_ptr<S3Client> client, Options options)
    : client_(std::move(client)),
      cache_(std::make_shared<BlockCache>(options.blocks)),
      options_(options) {}

absl::StatusOr<bool> S3Files::HoldsAnything(const ObjectUri& at) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectPage page,
                          client_->List(at.bucket, PrefixOf(at), /*by_slash=*/false, "", 1));
  return !page.objects.empty();
}

// Returns nothing for a directory. The answer to HEAD has no text, so another question gives the
// reason of an error, such as a missing bucket.
absl::StatusOr<std::optional<S3Client::Object>> S3Files::Find(const std::string& path,
                                                              const ObjectUri& at) {
  const int64_t key_changes = client_->key_changes();
  absl::StatusOr<S3Client::Object> object = absl::NotFoundError("");
  if (!at.key.empty()) object = client_->Head(at.bucket, at.key);
  if (object.ok()) return *object;
  MUSTER_ASSIGN_OR_RETURN(const bool is_directory, HoldsAnything(at));
  // Some stores answer to keys that they do not know as if nothing were there.
  if (client_->key_changes() != key_changes) return Find(path, at);
  if (!absl::IsNotFound(object.status())) return object.status();
  if (is_directory || at.key.empty()) return std::nullopt;
  return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
}

absl::StatusOr<FileInfo> S3Files::Stat(const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(path));
  MUSTER_ASSIGN_OR_RETURN(const std::optional<S3Client::Object> object, Find(path, at));
  return object ? FileInfo{FileKind::kFile, object->size} : FileInfo{FileKind::kDirectory, 0};
}

namespace {

// Watches a list that comes in pages. A store that gives a token again, or ever new tokens and
// nothing else, would never come to an end.
class Pages {
 public:
  explicit Pages(std::string path) : path_(std::move(path)) {}
  // Call after each page, with the token of the next one, if there is one.
  absl::Status Note(const std::string& next, bool empty) {
    empty_ = empty ? empty_ + 1 : 0;
    if (next.empty() || (seen_.insert(next).second && empty_ <= kMostEmpty)) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat(
        path_, ": the store lists without end: it ",
        empty_ > kMostEmpty ? "sent pages without entries" : "gave a continuation token twice"));
  }

 private:
  static constexpr int kMostEmpty = 1000;
  const std::string path_;
  std::set<std::string> seen_;
  int empty_ = 0;
};

std::string TokenOf(const UploadPage& page) {
  return page.next_key.empty() ? "" : absl::StrCat(page.next_key, "\n", page.next_id);
}

}  // namespace

absl::StatusOr<std::vector<DirectoryEntry>> S3Files::List(const std::string& directory) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(directory));
  const std::string prefix = PrefixOf(at);
  std::map<std::string, DirectoryEntry> entries;
  bool exists = at.key.empty();
  ObjectPage page;
  Pages pages(directory);
  do {
    MUSTER_ASSIGN_OR_RETURN(page, client_->List(at.bucket, prefix, /*by_slash=*/true, page.next));
    MUSTER_RETURN_IF_ERROR(pages.Note(page.next, page.objects.empty() && page.prefixes.empty()));
    for (const auto& object : page.objects) AddEntry(object.key, prefix, object.size, entries);
    for (const std::string& name : page.prefixes) AddEntry(name, prefix, std::nullopt, entries);
    exists = exists || !page.objects.empty() || !page.prefixes.empty();
  } while (!page.next.empty());
  UploadPage uploads;
  Pages upload_pages(directory);
  do {
    MUSTER_ASSIGN_OR_RETURN(uploads, client_->ListUploads(at.bucket, prefix, uploads));
    MUSTER_RETURN_IF_ERROR(upload_pages.Note(TokenOf(uploads), uploads.uploads.empty()));
    for (const auto& upload : uploads.uploads) AddEntry(upload.key, prefix, std::nullopt, entries);
    exists = exists || !uploads.uploads.empty();
  } while (!uploads.next_key.empty());
  if (!exists) return absl::NotFoundError(absl::StrCat(directory, ": does not exist"));
  std::vector<DirectoryEntry> out;
  for (auto& [name, entry] : entries) out.push_back(std::move(entry));
  return out;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> S3Files::Open(const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(path));
  MUSTER_ASSIGN_OR_RETURN(const std::optional<S3Client::Object> object, Find(path, at));
  if (object) return std::make_unique<S3ReadableFile>(client_, cache_, at, *object);
  return absl::FailedPreconditionError(absl::StrCat(path, ": is a directory, not a file"));
}

absl::StatusOr<std::unique_ptr<MappedFile>> S3Files::Map(const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(std::string bytes,
                          ReadFile(*this, path, std::numeric_limits<size_t>::max()));
  return std::make_unique<CopiedFile>(std::move(bytes));
}

absl::StatusOr<std::unique_ptr<WritableFile>> S3Files::Create(const std::string& path,
                                                              CreateMode mode) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(path));
  if (at.key.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a bucket, not a file"));
  }
  if (mode == CreateMode::kAppend) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": an object cannot be appended to, only replaced"));
  }
  return std::make_unique<S3Upload>(client_, at,
                                    S3Upload::Options{.exclusive = mode == CreateMode::kExclusive,
                                                      .part_bytes = options_.part_bytes,
                                                      .parallel = options_.parallel_parts});
}

absl::Status S3Files::MakeDirectories(const std::string& path) { return Parse(path).status(); }

absl::Status S3Files::Rename(const std::string& from, const std::string& to) {
  return absl::UnimplementedError(
      absl::StrCat(from, ": an object cannot be renamed, here to ", to));
}

absl::Status S3Files::Remove(const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(path));
  MUSTER_ASSIGN_OR_RETURN(const FileInfo info, Stat(path));
  if (info.kind == FileKind::kDirectory) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": is not empty"));
  }
  return client_->Delete(at.bucket, at.key);
}

absl::Status S3Files::SyncDirectory(const std::string& directory) {
  return Parse(directory).status();
}

absl::StatusOr<uint64_t> S3Files::FreeBytes(const std::string& path) {
  MUSTER_RETURN_IF_ERROR(Parse(path).status());
  return std::numeric_limits<uint64_t>::max();
}

absl::Status S3Files::EndUploads(const ObjectUri& at) {
  UploadPage page;
  Pages pages(ToText(at));
  do {
    MUSTER_ASSIGN_OR_RETURN(page, client_->ListUploads(at.bucket, at.key, page));
    MUSTER_RETURN_IF_ERROR(pages.Note(TokenOf(page), page.uploads.empty()));
    for (const UploadPage::Upload& upload : page.uploads) {
      if (upload.key != at.key && !upload.key.starts_with(PrefixOf(at))) continue;
      MUSTER_RETURN_IF_ERROR(client_->AbortUpload(at.bucket, upload.key, upload.id));
    }
  } while (!page.next_key.empty());
  return absl::OkStatus();
}

absl::Status S3Files::RemoveTree(const std::string& path, TreeOwner) {
  MUSTER_ASSIGN_OR_RETURN(const ObjectUri at, Parse(path));
  if (at.key.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": a bucket is not removed"));
  }
  // First the uploads: one that ends meanwhile is an object after that, and found below.
  MUSTER_RETURN_IF_ERROR(EndUploads(at));
  MUSTER_RETURN_IF_ERROR(client_->Delete(at.bucket, at.key));
  ObjectPage page;
  Pages pages(path);
  do {
    MUSTER_ASSIGN_OR_RETURN(page,
                            client_->List(at.bucket, PrefixOf(at), /*by_slash=*/false, page.next));
    MUSTER_RETURN_IF_ERROR(pages.Note(page.next, page.objects.empty()));
    for (const ObjectPage::Object& object : page.objects) {
      MUSTER_RETURN_IF_ERROR(client_->Delete(at.bucket, object.key));
    }
  } while (!page.next.empty());
  return absl::OkStatus();
}

}  // namespace muster
