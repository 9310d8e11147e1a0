#include "tests/testenv/s3_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files/files.h"
#include "base/object_store/credentials_cache.h"
#include "base/status_macros.h"
#include "base/testing/patience.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(20);

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool Accepts(int port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<S3Server>> S3Server::Start() {
  MUSTER_ASSIGN_OR_RETURN(ReservedPort port, ReservedPort::Reserve());
  std::unique_ptr<S3Server> server(new S3Server(std::move(port)));
  const char* scratch = getenv("TEST_TMPDIR");
  std::string folder = absl::StrCat(scratch == nullptr ? "/tmp" : scratch, "/s3.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return absl::UnavailableError("mkdtemp failed");
  server->folder_ = folder;
  MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(server->bucket_folder()));
  MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(JoinPath(folder, "attributes")));
  MUSTER_RETURN_IF_ERROR(server->Restart());
  return server;
}

S3Server::~S3Server() {
  Kill();
  RemoveAll(FileSystem(), folder_).IgnoreError();
}

std::string S3Server::endpoint() const { return absl::StrCat("http://", port_.address()); }

std::string S3Server::bucket_folder() const {
  return JoinPath(JoinPath(folder_, "buckets"), kBucket);
}

S3Options S3Server::client_options() const {
  S3Options options;
  options.endpoint = endpoint();
  options.credentials = FixedCredentials(keys_);
  return options;
}

void S3Server::SetVariables() const {
  setenv("AWS_ACCESS_KEY_ID", keys_.key_id.c_str(), 1);
  setenv("AWS_SECRET_ACCESS_KEY", keys_.secret.c_str(), 1);
  unsetenv("AWS_SESSION_TOKEN");
}

void S3Server::Kill() {
  if (process_ == nullptr) return;
  process_->Signal(SIGKILL).IgnoreError();
  pollfd ended = {process_->poll_fd(), POLLIN, 0};
  poll(&ended, 1, -1);
  process_->Poll().IgnoreError();
  process_.reset();
}

absl::Status S3Server::Restart() {
  const char* programs = getenv("MUSTER_TESTENV_BIN");
  if (programs == nullptr) {
    return absl::FailedPreconditionError("MUSTER_TESTENV_BIN is not set: make this an s3_test");
  }
  ProcessSpec spec;
  spec.argv = {JoinPath(programs, "versitygw"),
               "--access",
               keys_.key_id,
               "--secret",
               keys_.secret,
               "--port",
               port_.address(),
               "--keep-alive",
               "--quiet",
               "posix",
               "--sidecar",
               JoinPath(folder_, "attributes"),
               JoinPath(folder_, "buckets")};
  const UniqueFd log(
      open(JoinPath(folder_, "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  spec.fds = {{log.get(), 1}, {log.get(), 2}};
  spec.die_with_parent = true;
  MUSTER_ASSIGN_OR_RETURN(process_, ProcessLauncher::Real().Launch(spec));
  return WaitUntilItAnswers();
}

absl::Status S3Server::RestartWithKeys(S3Credentials keys) {
  Kill();
  keys_ = std::move(keys);
  return Restart();
}

absl::Status S3Server::WaitUntilItAnswers() {
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(kLook)) {
    if (Accepts(port_.number())) return absl::OkStatus();
    MUSTER_ASSIGN_OR_RETURN(const auto ended, process_->Poll());
    if (!ended) continue;
    return absl::UnavailableError(
        absl::StrCat("the server ended with ", ended->code, ": ",
                     ReadFile(FileSystem(), JoinPath(folder_, "log")).value_or("")));
  }
  return absl::DeadlineExceededError("the server does not answer");
}

}  // namespace muster
