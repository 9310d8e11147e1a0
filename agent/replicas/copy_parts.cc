#include "agent/replicas/copy_parts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/random_name.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

using v1alpha1::ReplicaPart;

constexpr size_t kMaxManifest = size_t{64} << 20;
constexpr size_t kMaxFiles = 64;

// Returns a name that no other arrival has: agents of one node may share a disk.
std::string HiddenName() { return absl::StrCat(kArrivingPrefix, RandomName()); }

bool IsPlainName(const std::string& name) {
  const bool known = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
  return known && !name.empty() && name.size() <= 128 && name.front() != '.';
}

absl::Status Malformed(std::string what) {
  return absl::InvalidArgumentError(absl::StrCat("replica: ", what));
}

absl::Status SendFile(Files& files, const std::string& path, const std::string& name,
                      absl::FunctionRef<absl::Status(const ReplicaPart&)> emit) {
  MUSTER_ASSIGN_OR_RETURN(const auto file, files.Open(JoinPath(path, name)));
  ReplicaPart part;
  part.mutable_file()->set_name(name);
  part.mutable_file()->set_bytes(static_cast<int64_t>(file->size()));
  MUSTER_RETURN_IF_ERROR(emit(part));
  for (uint64_t at = 0; at < file->size(); at += kPartBytes) {
    if (!Exists(files, JoinPath(path, kDoneName))) {
      return absl::AbortedError(absl::StrCat(path, ": a newer copy has taken its place"));
    }
    std::string& data = *part.mutable_data();
    data.resize(std::min<uint64_t>(kPartBytes, file->size() - at));
    MUSTER_RETURN_IF_ERROR(file->Read(at, data.data(), data.size()));
    MUSTER_RETURN_IF_ERROR(emit(part));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendCopy(Files& files, const std::string& path, const v1alpha1::WorkerId& worker,
                      int local_rank, absl::FunctionRef<absl::Status(const ReplicaPart&)> emit) {
  ReplicaPart part;
  v1alpha1::ReplicaHead& head = *part.mutable_head();
  *head.mutable_worker() = worker;
  head.set_local_rank(local_rank);
  head.set_directory(BaseName(path));
  MUSTER_ASSIGN_OR_RETURN(const auto entries, files.List(path));
  for (const DirectoryEntry& entry : entries) {
    MUSTER_ASSIGN_OR_RETURN(const FileInfo info, files.Stat(JoinPath(path, entry.name)));
    head.set_bytes(head.bytes() + static_cast<int64_t>(info.size));
  }
  MUSTER_RETURN_IF_ERROR(emit(part));
  for (const DirectoryEntry& entry : entries) {
    MUSTER_RETURN_IF_ERROR(SendFile(files, path, entry.name, emit));
  }
  part.mutable_end();
  return emit(part);
}

absl::StatusOr<std::unique_ptr<CopyReceiver>> CopyReceiver::Begin(Files& files,
                                                                  const std::string& job_uid,
                                                                  const v1alpha1::ReplicaHead& head,
                                                                  const std::string& folder,
                                                                  Sync sync) {
  if (StepOfCheckpointName(head.directory()) < 0) {
    return Malformed(absl::StrCat("\"", head.directory(), "\" is no name of a copy"));
  }
  if (head.bytes() <= 0) return Malformed(absl::StrCat("a copy of ", head.bytes(), " bytes"));
  std::unique_ptr<CopyReceiver> receiver(
      new CopyReceiver(files, job_uid, folder, head.directory(), head.bytes(), sync));
  MUSTER_RETURN_IF_ERROR(RemoveAll(files, receiver->hidden_));
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(receiver->arriving_));
  return receiver;
}

CopyReceiver::CopyReceiver(Files& files, std::string job_uid, std::string folder,
                           std::string directory, int64_t bytes, Sync sync)
    : files_(files),
      job_uid_(std::move(job_uid)),
      folder_(std::move(folder)),
      sync_(sync),
      hidden_(JoinPath(folder_, HiddenName())),
      arriving_(JoinPath(hidden_, directory)),
      target_(JoinPath(folder_, directory)),
      room_(bytes) {}

CopyReceiver::~CopyReceiver() {
  file_.reset();
  RemoveAll(files_, hidden_).IgnoreError();
}

absl::Status CopyReceiver::Take(const ReplicaPart& part) {
  if (complete_) return Malformed("a part after the end");
  switch (part.kind_case()) {
    case ReplicaPart::kFile:
      return Open(part.file());
    case ReplicaPart::kData:
      return Append(part.data());
    case ReplicaPart::kEnd:
      return Finish();
    case ReplicaPart::kHead:
    case ReplicaPart::KIND_NOT_SET:
      break;
  }
  return Malformed("an unexpected part");
}

absl::Status CopyReceiver::Open(const v1alpha1::ReplicaFile& file) {
  MUSTER_RETURN_IF_ERROR(CloseFile());
  if (!IsPlainName(file.name()) || checksums_.count(file.name()) > 0) {
    return Malformed(absl::StrCat("a file named \"", file.name(), "\""));
  }
  if (checksums_.size() >= kMaxFiles) return Malformed("too many files");
  if (file.bytes() < 0 || file.bytes() > room_) {
    return Malformed(absl::StrCat(file.name(), " is larger than the copy's head said"));
  }
  MUSTER_ASSIGN_OR_RETURN(file_,
                          files_.Create(JoinPath(arriving_, file.name()), CreateMode::kExclusive));
  name_ = file.name();
  missing_ = file.bytes();
  hasher_ = std::make_unique<Hasher128>();
  return absl::OkStatus();
}

absl::Status CopyReceiver::Append(const std::string& bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  if (file_ == nullptr || count > missing_) return Malformed("bytes of no file");
  MUSTER_RETURN_IF_ERROR(file_->Append(bytes));
  hasher_->Update(bytes);
  missing_ -= count;
  room_ -= count;
  return absl::OkStatus();
}

absl::Status CopyReceiver::CloseFile() {
  if (file_ == nullptr) return absl::OkStatus();
  if (missing_ > 0) return Malformed(absl::StrCat(name_, " lacks ", missing_, " bytes"));
  if (sync_ == Sync::kYes) MUSTER_RETURN_IF_ERROR(file_->Sync());
  MUSTER_RETURN_IF_ERROR(file_->Close());
  file_.reset();
  checksums_[name_] = hasher_->Hex();
  return absl::OkStatus();
}

absl::Status CopyReceiver::Finish() {
  MUSTER_RETURN_IF_ERROR(CloseFile());
  MUSTER_RETURN_IF_ERROR(Verify());
  if (sync_ == Sync::kYes) MUSTER_RETURN_IF_ERROR(files_.SyncDirectory(arriving_));
  MUSTER_RETURN_IF_ERROR(TakePlace());
  if (sync_ == Sync::kYes) MUSTER_RETURN_IF_ERROR(files_.SyncDirectory(folder_));
  complete_ = true;
  return absl::OkStatus();
}

// An earlier copy of this name goes only once the new one is in its place.
absl::Status CopyReceiver::TakePlace() {
  const std::string earlier = absl::StrCat(arriving_, ".earlier");
  const absl::Status moved = files_.Rename(target_, earlier);
  if (!moved.ok() && !absl::IsNotFound(moved)) return moved;
  const absl::Status placed = files_.Rename(arriving_, target_);
  if (!placed.ok() && moved.ok()) files_.Rename(earlier, target_).IgnoreError();
  return placed;
}

absl::Status CopyReceiver::Verify() const {
  const CheckpointListing listing = InspectCheckpoint(files_, arriving_);
  if (!listing.complete) return absl::DataLossError(absl::StrCat("replica: ", listing.problem));
  if (listing.job_uid != job_uid_) return absl::DataLossError("replica: it is of another job");
  MUSTER_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(files_, JoinPath(arriving_, kManifestName), kMaxManifest));
  MUSTER_ASSIGN_OR_RETURN(const Json manifest, ParseJson(text, kMaxManifest));
  size_t known = 2;  // the manifest, and DONE with its checksum
  for (const Json& record : ArrayField(manifest, "files")) {
    const std::string name = StringField(record, "name");
    const auto received = checksums_.find(name);
    if (received == checksums_.end() || received->second != StringField(record, "checksum")) {
      return absl::DataLossError(
          absl::StrCat("replica: ", name, " has not the bytes that its manifest was written for"));
    }
    ++known;
  }
  if (known != checksums_.size()) {
    return absl::DataLossError("replica: it has files that its manifest does not name");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TransferCopy(Files& files, const std::string& path,
                                     const v1alpha1::WorkerId& worker, const CopyPlace& to,
                                     CopyReceiver::Sync sync,
                                     absl::FunctionRef<absl::Status()> check) {
  std::unique_ptr<CopyReceiver> receiver;
  int64_t bytes = 0;
  MUSTER_RETURN_IF_ERROR(
      SendCopy(files, path, worker, /*local_rank=*/0, [&](const ReplicaPart& part) -> absl::Status {
        MUSTER_RETURN_IF_ERROR(check());
        if (receiver != nullptr) return receiver->Take(part);
        bytes = part.head().bytes();
        MUSTER_ASSIGN_OR_RETURN(receiver, CopyReceiver::Begin(to.files, worker.job_uid(),
                                                              part.head(), to.folder, sync));
        return absl::OkStatus();
      }));
  return bytes;
}

std::vector<CheckpointListing> CompleteCopies(Files& files, const std::string& folder) {
  auto copies = ListCheckpoints(files, folder).value_or(std::vector<CheckpointListing>());
  std::erase_if(copies, [](const CheckpointListing& copy) { return !copy.complete; });
  std::sort(copies.begin(), copies.end(),
            [](const CheckpointListing& a, const CheckpointListing& b) {
              return std::tie(a.attempt, a.step) > std::tie(b.attempt, b.step);
            });
  return copies;
}

}  // namespace muster::agent
