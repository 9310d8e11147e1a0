#include "base/testing/memory_files.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace muster {

struct MemoryFiles::Node {
  bool directory = false;
  std::string bytes;
  std::string durable_bytes;
  std::map<std::string, NodePtr> entries;
  std::map<std::string, NodePtr> durable_entries;

  uint64_t TotalBytes() const {
    uint64_t total = bytes.size();
    for (const auto& [name, child] : entries) total += child->TotalBytes();
    return total;
  }
  void Crash() {
    bytes = durable_bytes;
    entries = durable_entries;
    for (auto& [name, child] : entries) child->Crash();
  }
};

class MemoryFiles::Writer final : public WritableFile {
 public:
  Writer(MemoryFiles* files, NodePtr node, std::string path, int64_t generation)
      : files_(files), node_(std::move(node)), path_(std::move(path)), generation_(generation) {}
  absl::Status Append(std::string_view bytes) override {
    return files_->Append(*node_, path_, bytes, generation_);
  }
  absl::Status Sync() override { return files_->Sync(*node_, path_, generation_); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  MemoryFiles* const files_;
  const NodePtr node_;
  const std::string path_;
  const int64_t generation_;
};

// Serves both kinds of reader with the bytes as they were when the file was opened.
class MemoryFiles::Reader final : public ReadableFile, public MappedFile {
 public:
  Reader(std::string bytes, std::string path) : bytes_(std::move(bytes)), path_(std::move(path)) {}
  uint64_t size() const override { return bytes_.size(); }
  std::string_view bytes() const override { return bytes_; }
  absl::Status Read(uint64_t offset, char* into, size_t size) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return absl::OutOfRangeError(absl::StrCat(path_, ": ends at byte ", bytes_.size()));
    }
    if (size > 0) std::memcpy(into, bytes_.data() + offset, size);
    return absl::OkStatus();
  }

 private:
  const std::string bytes_;
  const std::string path_;
};

namespace {

absl::Status Missing(const std::string& path) {
  return absl::NotFoundError(absl::StrCat(path, ": no such file or directory"));
}

absl::Status Dead(const std::string& path) {
  return absl::AbortedError(absl::StrCat(path, ": the process was killed here"));
}

}  // namespace

MemoryFiles::MemoryFiles() : root_(std::make_shared<Node>()) { root_->directory = true; }
MemoryFiles::~MemoryFiles() = default;

absl::Status MemoryFiles::Admit(Operation operation, const std::string& path) {
  if (kill_at_ >= 0 && changes_ >= kill_at_) return Dead(path);
  if (fault_) MUSTER_RETURN_IF_ERROR(fault_(operation, path));
  ++changes_;
  return absl::OkStatus();
}

absl::StatusOr<MemoryFiles::NodePtr> MemoryFiles::Find(const std::string& path) const {
  NodePtr node = root_;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    auto child = node->entries.find(std::string(part));
    if (child == node->entries.end()) return Missing(path);
    node = child->second;
  }
  return node;
}

absl::StatusOr<FileInfo> MemoryFiles::Stat(const std::string& path) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(path));
  return FileInfo{node->directory ? FileKind::kDirectory : FileKind::kFile, node->bytes.size()};
}

absl::StatusOr<std::vector<DirectoryEntry>> MemoryFiles::List(const std::string& directory) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(directory));
  if (!node->directory) {
    return absl::FailedPreconditionError(absl::StrCat(directory, ": is not a directory"));
  }
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : node->entries) {
    entries.push_back({name, child->directory ? FileKind::kDirectory : FileKind::kFile});
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> MemoryFiles::Open(const std::string& path) {
  MutexLock lock(mu_);
  if (open_fault_) MUSTER_RETURN_IF_ERROR(open_fault_(path));
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(path));
  if (node->directory) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a directory, not a file"));
  }
  return std::make_unique<Reader>(node->bytes, path);
}

absl::StatusOr<std::unique_ptr<MappedFile>> MemoryFiles::Map(const std::string& path) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(path));
  if (node->directory) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a directory, not a file"));
  }
  return std::make_unique<Reader>(node->bytes, path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFiles::Create(const std::string& path,
                                                                  CreateMode mode) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr parent, Find(ParentPath(path)));
  if (!parent->directory) return Missing(path);
  NodePtr& node = parent->entries[BaseName(path)];
  const bool made = node == nullptr;
  absl::Status admitted;
  if (!made && mode == CreateMode::kExclusive) {
    admitted = absl::AlreadyExistsError(absl::StrCat(path, ": exists"));
  } else if (!made && node->directory) {
    admitted = absl::FailedPreconditionError(absl::StrCat(path, ": is a directory"));
  } else {
    admitted = Admit(Operation::kCreate, path);
  }
  if (!admitted.ok()) {
    if (made) parent->entries.erase(BaseName(path));
    return admitted;
  }
  if (made) node = std::make_shared<Node>();
  if (mode == CreateMode::kTruncate) node->bytes.clear();
  return std::make_unique<Writer>(this, node, path, generation_);
}

absl::Status MemoryFiles::Append(Node& node, const std::string& path, std::string_view bytes,
                                 int64_t generation) {
  MutexLock lock(mu_);
  if (generation != generation_) return Dead(path);
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kAppend, path));
  if (capacity_ == UINT64_MAX) {
    node.bytes.append(bytes);
    return absl::OkStatus();
  }
  const uint64_t used = root_->TotalBytes();
  const uint64_t room = used < capacity_ ? capacity_ - used : 0;
  node.bytes.append(bytes.substr(0, room));
  if (bytes.size() <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(path, ": cannot write: No space left on device"));
}

absl::Status MemoryFiles::Sync(Node& node, const std::string& path, int64_t generation) {
  MutexLock lock(mu_);
  if (generation != generation_) return Dead(path);
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kSync, path));
  node.durable_bytes = node.bytes;
  return absl::OkStatus();
}

absl::Status MemoryFiles::MakeDirectories(const std::string& path) {
  MutexLock lock(mu_);
  NodePtr node = root_;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (!node->directory) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": a parent is not a directory"));
    }
    auto child = node->entries.find(std::string(part));
    if (child == node->entries.end()) {
      MUSTER_RETURN_IF_ERROR(Admit(Operation::kMakeDirectory, path));
      auto made = std::make_shared<Node>();
      made->directory = true;
      child = node->entries.emplace(std::string(part), made).first;
    }
    node = child->second;
  }
  if (!node->directory) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": is a file, not a directory"));
  }
  return absl::OkStatus();
}

absl::Status MemoryFiles::Rename(const std::string& from, const std::string& to) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(from));
  MUSTER_ASSIGN_OR_RETURN(NodePtr source, Find(ParentPath(from)));
  MUSTER_ASSIGN_OR_RETURN(NodePtr target, Find(ParentPath(to)));
  auto there = target->entries.find(BaseName(to));
  if (there != target->entries.end()) {
    const Node& old = *there->second;
    if (old.directory != node->directory || (old.directory && !old.entries.empty())) {
      return absl::AlreadyExistsError(absl::StrCat(from, ": cannot rename to ", to, ": it exists"));
    }
  }
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kRename, from));
  source->entries.erase(BaseName(from));
  target->entries[BaseName(to)] = node;
  return absl::OkStatus();
}

absl::Status MemoryFiles::Exchange(const std::string& a, const std::string& b) {
  MutexLock lock(mu_);
  if (refuses_exchange_) return Files::Exchange(a, b);
  MUSTER_ASSIGN_OR_RETURN(const NodePtr first, Find(a));
  MUSTER_ASSIGN_OR_RETURN(const NodePtr second, Find(b));
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kRename, a));
  (*Find(ParentPath(a)))->entries[BaseName(a)] = second;
  (*Find(ParentPath(b)))->entries[BaseName(b)] = first;
  return absl::OkStatus();
}

void MemoryFiles::RefuseExchange() {
  MutexLock lock(mu_);
  refuses_exchange_ = true;
}

absl::Status MemoryFiles::Remove(const std::string& path) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(path));
  MUSTER_ASSIGN_OR_RETURN(NodePtr parent, Find(ParentPath(path)));
  if (node->directory && !node->entries.empty()) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": directory is not empty"));
  }
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kRemove, path));
  parent->entries.erase(BaseName(path));
  return absl::OkStatus();
}

absl::Status MemoryFiles::RemoveTree(const std::string& path, TreeOwner owner) {
  const absl::StatusOr<FileInfo> info = Stat(path);
  if (info.ok() && info->kind == FileKind::kDirectory) {
    MUSTER_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, List(path));
    for (const DirectoryEntry& entry : entries) {
      MUSTER_RETURN_IF_ERROR(RemoveTree(JoinPath(path, entry.name), owner));
    }
  }
  const absl::Status removed = Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status MemoryFiles::SyncDirectory(const std::string& directory) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(directory));
  MUSTER_RETURN_IF_ERROR(Admit(Operation::kSyncDirectory, directory));
  node->durable_entries = node->entries;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryFiles::FreeBytes(const std::string& path) {
  MutexLock lock(mu_);
  MUSTER_RETURN_IF_ERROR(Find(path).status());
  const uint64_t used = root_->TotalBytes();
  return used < capacity_ ? capacity_ - used : 0;
}

void MemoryFiles::SetFault(Fault fault) {
  MutexLock lock(mu_);
  fault_ = std::move(fault);
}

void MemoryFiles::SetOpenFault(std::function<absl::Status(const std::string&)> fault) {
  MutexLock lock(mu_);
  open_fault_ = std::move(fault);
}

void MemoryFiles::KillAfter(int64_t changes) {
  MutexLock lock(mu_);
  kill_at_ = changes < 0 ? -1 : changes_ + changes;
}

int64_t MemoryFiles::changes() const {
  MutexLock lock(mu_);
  return changes_;
}

void MemoryFiles::SetCapacity(uint64_t bytes) {
  MutexLock lock(mu_);
  capacity_ = bytes;
}

void MemoryFiles::Crash() {
  MutexLock lock(mu_);
  root_->Crash();
  fault_ = nullptr;
  open_fault_ = nullptr;
  kill_at_ = -1;
  ++generation_;
}

absl::Status MemoryFiles::Overwrite(const std::string& path, std::string contents) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(NodePtr node, Find(path));
  node->bytes = contents;
  node->durable_bytes = std::move(contents);
  return absl::OkStatus();
}

}  // namespace muster
