#include "base/object_store/s3_upload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMostParts = 10'000;
// After so many parts, the next ones are larger by the size of the first.
constexpr size_t kPartsOfOneSize = 1000;

}  // namespace

S3Upload::S3Upload(std::shared_ptr<S3Client> client, ObjectUri at, bool exclusive,
                   size_t part_bytes)
    : client_(std::move(client)),
      at_(std::move(at)),
      exclusive_(exclusive),
      part_bytes_(part_bytes) {}

S3Upload::~S3Upload() { GiveUp(); }

size_t S3Upload::PartBytes() const { return part_bytes_ * (1 + etags_.size() / kPartsOfOneSize); }

absl::Status S3Upload::Append(std::string_view bytes) {
  if (closed_) return absl::FailedPreconditionError("the file is closed");
  while (error_.ok() && !bytes.empty()) {
    // A full part waits for more, because the last one is sent when the file is closed.
    if (buffer_.size() == PartBytes()) MUSTER_RETURN_IF_ERROR(Remember(SendPart()));
    const size_t some = std::min(bytes.size(), PartBytes() - buffer_.size());
    buffer_.append(bytes.substr(0, some));
    bytes.remove_prefix(some);
  }
  return error_;
}

absl::Status S3Upload::Close() {
  if (closed_) return error_;
  if (error_.ok()) Remember(Finish()).IgnoreError();
  closed_ = true;
  return error_;
}

absl::Status S3Upload::SendPart() {
  if (etags_.size() == kMostParts) {
    return absl::ResourceExhaustedError(
        absl::StrCat(ToText(at_), ": the file is too long for one object"));
  }
  if (upload_.empty()) {
    // The store decides at the end; whoever is too late already need not send everything first.
    if (exclusive_ && client_->Head(at_.bucket, at_.key).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(ToText(at_), ": exists already"));
    }
    MUSTER_ASSIGN_OR_RETURN(upload_, client_->BeginUpload(at_.bucket, at_.key, writer_));
  }
  MUSTER_ASSIGN_OR_RETURN(
      std::string etag, client_->PutPart(at_.bucket, at_.key, upload_, etags_.size() + 1, buffer_));
  etags_.push_back(std::move(etag));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status S3Upload::Finish() {
  if (upload_.empty()) return client_->Put(at_.bucket, at_.key, buffer_, exclusive_);
  if (!buffer_.empty()) MUSTER_RETURN_IF_ERROR(SendPart());
  MUSTER_RETURN_IF_ERROR(
      client_->CompleteUpload(at_.bucket, at_.key, upload_, writer_, etags_, exclusive_));
  upload_.clear();
  return absl::OkStatus();
}

absl::Status S3Upload::Remember(absl::Status status) {
  error_ = std::move(status);
  if (!error_.ok()) GiveUp();
  return error_;
}

void S3Upload::GiveUp() {
  if (upload_.empty()) return;
  client_->AbortUpload(at_.bucket, at_.key, upload_).IgnoreError();
  upload_.clear();
}

}  // namespace muster
