#ifndef MUSTER_BASE_OBJECT_STORE_S3_CLIENT_H_
#define MUSTER_BASE_OBJECT_STORE_S3_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/storage_trouble.h"
#include "base/mutex.h"
#include "base/object_store/aws_signature.h"
#include "base/object_store/credentials_cache.h"
#include "base/object_store/http_transport.h"
#include "base/object_store/s3_answers.h"

namespace muster {

struct S3Options {
  // As of checkpoint.s3: scheme, host and port; empty: AWS's for the region.
  std::string endpoint;
  std::string region = "us-east-1";
  std::shared_ptr<CredentialsCache> credentials;
  // A request that fails in a way that may pass is sent again after growing waits, until so many
  // requests were sent, or so much time has passed since the first.
  int most_tries = 8;
  absl::Duration most_time = absl::Minutes(1);
  absl::Duration first_wait = absl::Milliseconds(200);
};

// The operations of an S3-compatible store (Amazon S3 API Reference) that Files needs. Each request
// is signed with the checksum of its body, which the store compares with what it received.
//
// Errors name the object as s3://bucket/key and the store's address, never a key. Codes are those
// of JudgeAnswer(), and those of a source that gives no keys; Unavailable after the last try.
// Thread-safe; calls wait for the network.
class S3Client {
 public:
  using Sleep = std::function<void(absl::Duration)>;

  struct Object {
    uint64_t size = 0;
    std::string etag;
  };

  // `clock` must outlive this.
  S3Client(S3Options options, std::unique_ptr<HttpTransport> transport, const Clock& clock,
           Sleep sleep);

  absl::StatusOr<Object> Head(const std::string& bucket, const std::string& key);
  // Returns `size` > 0 bytes from `offset`. DataLoss if the object no longer has this entity tag.
  absl::StatusOr<std::string> Get(const std::string& bucket, const std::string& key,
                                  const std::string& etag, uint64_t offset, uint64_t size);
  // Creates or replaces an object; with `exclusive`, AlreadyExists if it exists.
  absl::Status Put(const std::string& bucket, const std::string& key, std::string_view body,
                   bool exclusive);
  // OK if there is no such object.
  absl::Status Delete(const std::string& bucket, const std::string& key);
  // Returns a page of the objects whose keys begin with `prefix`; with `by_slash`, those that have
  // a slash after it are summed up as prefixes. `token` is the earlier page's, or empty.
  absl::StatusOr<ObjectPage> List(const std::string& bucket, const std::string& prefix,
                                  bool by_slash, const std::string& token, int most = 1000);
  // `after` is the earlier page, or an empty one.
  absl::StatusOr<UploadPage> ListUploads(const std::string& bucket, const std::string& prefix,
                                         const UploadPage& after);

  // An upload in parts. Nothing of it is visible before it is completed. `writer` is a text that
  // the object keeps, by which a repeated request knows that the first took effect.
  absl::StatusOr<std::string> BeginUpload(const std::string& bucket, const std::string& key,
                                          const std::string& writer);
  // Returns the part's entity tag. Numbers count from 1.
  absl::StatusOr<std::string> PutPart(const std::string& bucket, const std::string& key,
                                      const std::string& upload, size_t number,
                                      std::string_view body);
  absl::Status CompleteUpload(const std::string& bucket, const std::string& key,
                              const std::string& upload, const std::string& writer,
                              const std::vector<std::string>& etags, bool exclusive);
  // OK if there is no such upload any more.
  absl::Status AbortUpload(const std::string& bucket, const std::string& key,
                           const std::string& upload);

  // Tells since when every request fails in a way that may pass; nullopt if the newest one that was
  // answered was not of that kind.
  std::optional<StorageTrouble> trouble() const;
  // Counts how often keys that the store refused were replaced by others.
  int64_t key_changes() const;

 private:
  struct Request;
  struct Outcome;
  struct Reply {
    HttpAnswer answer;
    // An earlier try of the same request may have taken effect.
    bool repeated = false;
  };

  absl::StatusOr<HttpAnswer> Ask(const Request& request);
  Outcome Try(const Request& request, Reply& reply);
  absl::Status TryUntilDecided(const Request& request, Reply& reply, int& tries, bool& gave_up);
  absl::Status Send(const Request& request, Reply& reply);
  HttpRequest Sign(const Request& request, const S3Credentials& keys) const;
  bool ReplaceKeys(const S3Credentials& refused);
  void NoteTry(const absl::Status& status, bool retry);
  bool IsOurs(const std::string& bucket, const std::string& key, const std::string& writer);

  const S3Options options_;
  const std::unique_ptr<HttpTransport> transport_;
  const Clock& clock_;
  const Sleep sleep_;

  mutable Mutex mu_;
  absl::Time failing_since_ MUSTER_GUARDED_BY(mu_) = absl::InfiniteFuture();  // monotonic
  std::string newest_error_ MUSTER_GUARDED_BY(mu_);
  int64_t key_changes_ MUSTER_GUARDED_BY(mu_) = 0;
};

// Returns a text that no other writer has.
std::string NewWriterName();

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_S3_CLIENT_H_
