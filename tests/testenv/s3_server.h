#ifndef MUSTER_TESTS_TESTENV_S3_SERVER_H_
#define MUSTER_TESTS_TESTENV_S3_SERVER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/object_store/aws_signature.h"
#include "base/object_store/s3_client.h"
#include "base/object_store/storage.h"
#include "base/process/process.h"
#include "base/testing/reserved_port.h"

namespace muster {

// A real S3-compatible server (versitygw) of this test's own, which checks signatures. It keeps
// objects as files in a folder. The destructor ends it. Tests that use it are s3_test targets.
class S3Server {
 public:
  static constexpr char kBucket[] = "checkpoints";
  static constexpr char kKeyId[] = "tester";
  static constexpr char kSecret[] = "not-a-secret-of-anybody";

  // Starts it with a bucket, in a new folder, and returns when it answers.
  static absl::StatusOr<std::unique_ptr<S3Server>> Start();
  ~S3Server();

  std::string endpoint() const;
  // Returns the folder in which the server keeps the bucket.
  std::string bucket_folder() const;
  // Options of a client that may do everything.
  S3Options client_options() const;
  StoreAddress address() const { return {endpoint(), ""}; }
  // Sets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in this process's environment.
  void SetVariables() const;

  // Ends the server at once, and starts it again at the same address.
  void Kill();
  absl::Status Restart();
  // Starts it again with other keys, so that it no longer knows the earlier ones.
  absl::Status RestartWithKeys(S3Credentials keys);

 private:
  explicit S3Server(ReservedPort port) : port_(std::move(port)) {}
  absl::Status WaitUntilItAnswers();

  S3Credentials keys_ = {kKeyId, kSecret, ""};
  const ReservedPort port_;
  std::string folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace muster

#endif  // MUSTER_TESTS_TESTENV_S3_SERVER_H_
