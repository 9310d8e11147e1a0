#ifndef MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_
#define MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/s3_client.h"

namespace muster {

// A file that becomes an object when it is closed. One part of it is in memory at a time. After an
// error every call returns that error, and the parts that were sent are given up.
class S3Upload final : public WritableFile {
 public:
  S3Upload(std::shared_ptr<S3Client> client, ObjectUri at, bool exclusive, size_t part_bytes);
  // Gives up what was sent, unless it was closed.
  ~S3Upload() override;

  absl::Status Append(std::string_view bytes) override;
  // Returns the error of an earlier call; nothing is durable before Close().
  absl::Status Sync() override { return error_; }
  absl::Status Close() override;

 private:
  size_t PartBytes() const;
  absl::Status SendPart();
  absl::Status Finish();
  absl::Status Remember(absl::Status status);
  void GiveUp();

  const std::shared_ptr<S3Client> client_;
  const ObjectUri at_;
  const bool exclusive_;
  const size_t part_bytes_;
  const std::string writer_ = NewWriterName();
  std::string buffer_;
  std::string upload_;  // its id; empty: none has begun
  std::vector<std::string> etags_;
  bool closed_ = false;
  absl::Status error_;
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_
