#include "base/object_store/s3_upload.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMostParts = 10'000;
// After so many parts, the next ones are larger by the size of the first.
constexpr size_t kPartsOfOneSize = 1000;

}  // namespace

struct S3Upload::Sending {
  std::string bytes;
  absl::StatusOr<std::string> etag;
  std::thread thread;
};

S3Upload::S3Upload(std::shared_ptr<S3Client> client, ObjectUri at, const Options& options)
    : client_(std::move(client)), at_(std::move(at)), options_(options) {}

S3Upload::~S3Upload() { GiveUp(); }

size_t S3Upload::PartBytes() const { return options_.part_bytes * (1 + begun_ / kPartsOfOneSize); }

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

absl::Status S3Upload::Begin() {
  // The store decides when the upload ends; this check saves a writer that is too late already from
  // sending the whole file.
  if (options_.exclusive && client_->Head(at_.bucket, at_.key).ok()) {
    return absl::AlreadyExistsError(absl::StrCat(ToText(at_), ": exists already"));
  }
  MUSTER_ASSIGN_OR_RETURN(upload_, client_->BeginUpload(at_.bucket, at_.key, writer_));
  return absl::OkStatus();
}

absl::Status S3Upload::SendPart() {
  if (begun_ == kMostParts) {
    return absl::ResourceExhaustedError(
        absl::StrCat(ToText(at_), ": the file is too long for one object"));
  }
  if (upload_.empty()) MUSTER_RETURN_IF_ERROR(Begin());
  const size_t most = options_.part_bytes * options_.parallel;
  while (!sending_.empty() && bytes_in_flight_ + buffer_.size() > most) {
    MUSTER_RETURN_IF_ERROR(FinishFirst());
  }
  Sending& part = *sending_.emplace_back(std::make_unique<Sending>());
  bytes_in_flight_ += buffer_.size();
  part.bytes = std::exchange(buffer_, {});
  part.thread = std::thread([this, &part, number = ++begun_] {
    part.etag = client_->PutPart(at_.bucket, at_.key, upload_, number, part.bytes);
  });
  return absl::OkStatus();
}

absl::Status S3Upload::FinishFirst() {
  const std::unique_ptr<Sending> part = std::move(sending_.front());
  sending_.pop_front();
  part->thread.join();
  bytes_in_flight_ -= part->bytes.size();
  MUSTER_ASSIGN_OR_RETURN(std::string etag, std::move(part->etag));
  etags_.push_back(std::move(etag));
  return absl::OkStatus();
}

absl::Status S3Upload::FinishAll() {
  absl::Status status;
  while (!sending_.empty()) status.Update(FinishFirst());
  return status;
}

absl::Status S3Upload::Finish() {
  if (upload_.empty()) return client_->Put(at_.bucket, at_.key, buffer_, options_.exclusive);
  if (!buffer_.empty()) MUSTER_RETURN_IF_ERROR(SendPart());
  MUSTER_RETURN_IF_ERROR(FinishAll());
  MUSTER_RETURN_IF_ERROR(
      client_->CompleteUpload(at_.bucket, at_.key, upload_, writer_, etags_, options_.exclusive));
  upload_.clear();
  return absl::OkStatus();
}

absl::Status S3Upload::Remember(absl::Status status) {
  error_ = std::move(status);
  if (!error_.ok()) GiveUp();
  return error_;
}

// A part that arrives after the end of its upload may stay at the store.
void S3Upload::GiveUp() {
  FinishAll().IgnoreError();
  if (upload_.empty()) return;
  client_->AbortUpload(at_.bucket, at_.key, upload_).IgnoreError();
  upload_.clear();
}

}  // namespace muster
