#ifndef MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_
#define MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/s3_client.h"

namespace muster {

// A file that becomes an object when it is closed. Several of its parts are sent at a time, each
// over a connection of its own: one connection to a store is slower than the network of a machine.
// After an error every call returns that error, and the parts that were sent are given up. Not
// thread-safe.
class S3Upload final : public WritableFile {
 public:
  struct Options {
    bool exclusive = false;
    // The size of the first parts; they grow, because an upload has a limited number of them.
    size_t part_bytes = 0;
    // So many parts are sent at a time while they have their first size. Larger ones take no more
    // memory together, as long as it holds one. One more part is filled meanwhile.
    size_t parallel = 1;
  };
  S3Upload(std::shared_ptr<S3Client> client, ObjectUri at, const Options& options);
  // Gives up what was sent, unless it was closed. Waits for the parts that are being sent.
  ~S3Upload() override;

  absl::Status Append(std::string_view bytes) override;
  // Returns the error of an earlier call; nothing is durable before Close().
  absl::Status Sync() override { return error_; }
  absl::Status Close() override;

 private:
  // A part that is being sent, by a thread of its own.
  struct Sending;

  size_t PartBytes() const;
  absl::Status Begin();
  absl::Status SendPart();
  // Waits for the part that was begun first.
  absl::Status FinishFirst();
  absl::Status FinishAll();
  absl::Status Finish();
  absl::Status Remember(absl::Status status);
  void GiveUp();

  const std::shared_ptr<S3Client> client_;
  const ObjectUri at_;
  const Options options_;
  const std::string writer_ = NewWriterName();
  std::string buffer_;
  std::string upload_;          // its id; empty: none has begun
  size_t begun_ = 0;            // parts
  size_t bytes_in_flight_ = 0;  // of `sending_`
  std::deque<std::unique_ptr<Sending>> sending_;
  std::vector<std::string> etags_;  // of the first parts, which are there
  bool closed_ = false;
  absl::Status error_;
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_S3_UPLOAD_H_
