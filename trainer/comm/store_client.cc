#include "trainer/comm/store_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/secrets.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

absl::Status Gone(const char* what) {
  return absl::UnavailableError(absl::StrCat("the store is gone: ", what));
}

// Returns a non-blocking socket that is connecting to the first address of host:port, or -1.
int StartConnecting(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(endpoint.substr(0, colon).c_str(), endpoint.substr(colon + 1).c_str(), &hints,
                  &found) != 0) {
    return -1;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    close(fd);
    freeaddrinfo(found);
    return -1;
  }
  freeaddrinfo(found);
  return fd;
}

absl::Status CheckEndpoint(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(endpoint.substr(colon + 1), &port) ||
      port <= 0 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", endpoint, "\" is not host:port"));
  }
  return absl::OkStatus();
}

}  // namespace

StoreClient::StoreClient() : aborted_(eventfd(0, EFD_CLOEXEC)) {}

StoreClient::~StoreClient() {
  if (fd_ >= 0) close(fd_);
  close(aborted_);
}

void StoreClient::Abort() {
  const uint64_t one = 1;
  if (write(aborted_, &one, sizeof(one)) < 0) return;  // full: it is readable already
}

absl::Status StoreClient::Await(int fd, short events, absl::Time until) {
  while (true) {
    // Looks once even if this thread was not run until after the deadline.
    const absl::Duration left = until - Clock::Real().Monotonic();
    const bool late = left <= absl::ZeroDuration();
    pollfd fds[] = {{aborted_, POLLIN, 0}, {fd, events, 0}};
    const int64_t ms = late ? 0 : std::clamp<int64_t>(absl::ToInt64Milliseconds(left) + 1, 1, 1000);
    const int ready = poll(fds, 2, static_cast<int>(ms));
    if (ready < 0 && errno != EINTR) return Gone(std::strerror(errno));
    if (fds[0].revents != 0) return absl::AbortedError("aborted");
    if (ready > 0 && fds[1].revents != 0) return absl::OkStatus();
    if (late) return absl::DeadlineExceededError("the store is silent");
  }
}

absl::Status StoreClient::Pause(absl::Duration duration) {
  pollfd aborted = {aborted_, POLLIN, 0};
  const timespec time = absl::ToTimespec(duration);
  return ppoll(&aborted, 1, &time, nullptr) > 0 ? absl::AbortedError("aborted") : absl::OkStatus();
}

absl::Status StoreClient::Connect(const std::string& endpoint, const std::string& secret,
                                  absl::Time until) {
  MUSTER_RETURN_IF_ERROR(CheckEndpoint(endpoint));
  std::string last;
  while (true) {
    const int fd = StartConnecting(endpoint);
    if (fd >= 0) {
      absl::Status status = Await(fd, POLLOUT, until);
      int error = 0;
      socklen_t size = sizeof(error);
      if (status.ok() && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        MutexLock lock(mu_);
        fd_ = fd;
        status = Prove(secret, until);
        if (status.ok()) return absl::OkStatus();
        fd_ = -1;
        last = absl::StrCat(": ", status.message());
      }
      close(fd);
      if (absl::IsAborted(status) || absl::IsPermissionDenied(status)) return status;
    }
    MUSTER_RETURN_IF_ERROR(Pause(absl::Milliseconds(10)));
    if (Clock::Real().Monotonic() >= until) {
      return absl::UnavailableError(absl::StrCat("no store answers at ", endpoint, last));
    }
  }
}

absl::Status StoreClient::Prove(const std::string& secret, absl::Time until) {
  in_.clear();
  out_.clear();
  MUSTER_RETURN_IF_ERROR(ReadAtLeast(kNonceBytes, until));
  const std::string nonce = RandomSecret();
  StoreKeys keys = DeriveStoreKeys(secret, std::string_view(in_).substr(0, kNonceBytes), nonce);
  in_.erase(0, kNonceBytes);
  out_ = nonce + keys.client_proof;
  MUSTER_RETURN_IF_ERROR(SendAll(until));
  MUSTER_RETURN_IF_ERROR(ReadAtLeast(kProofBytes, until));
  if (!SecretsEqual(std::string_view(in_).substr(0, kProofBytes), keys.server_proof)) {
    return absl::PermissionDeniedError(
        "what answers in place of the round's store does not know the round's secret");
  }
  in_.erase(0, kProofBytes);
  seal_.emplace(std::move(keys.to_server));
  open_.emplace(std::move(keys.to_client));
  return absl::OkStatus();
}

absl::StatusOr<StoreAnswer> StoreClient::Ask(const StoreRequest& request, absl::Time until) {
  MutexLock lock(mu_);
  if (fd_ < 0) return Gone("not connected");
  out_ += seal_->Seal(Encode(request));
  ++owed_;
  MUSTER_RETURN_IF_ERROR(SendAll(until));
  // Answers to requests that were given up come first.
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(StoreAnswer answer, ReadAnswer(until));
    if (--owed_ == 0) return answer;
  }
}

absl::Status StoreClient::SendAll(absl::Time until) {
  while (!out_.empty()) {
    MUSTER_RETURN_IF_ERROR(Await(fd_, POLLOUT, until));
    const ssize_t n = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return Gone(std::strerror(errno));
    if (n > 0) out_.erase(0, static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status StoreClient::ReadMore(absl::Time until) {
  MUSTER_RETURN_IF_ERROR(Await(fd_, POLLIN, until));
  char buffer[16384];
  const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
  if (n == 0) return Gone("it closed the connection");
  if (n < 0 && errno != EAGAIN && errno != EINTR) return Gone(std::strerror(errno));
  if (n > 0) in_.append(buffer, static_cast<size_t>(n));
  return absl::OkStatus();
}

absl::Status StoreClient::ReadAtLeast(size_t bytes, absl::Time until) {
  while (in_.size() < bytes) MUSTER_RETURN_IF_ERROR(ReadMore(until));
  return absl::OkStatus();
}

absl::StatusOr<StoreAnswer> StoreClient::ReadAnswer(absl::Time until) {
  while (true) {
    std::string_view rest = in_;
    const absl::StatusOr<std::optional<std::string>> message = open_->Open(rest);
    if (!message.ok()) return Gone(std::string(message.status().message()).c_str());
    if (!message->has_value()) {
      MUSTER_RETURN_IF_ERROR(ReadMore(until));
      continue;
    }
    std::optional<StoreAnswer> answer = DecodeStoreAnswer(**message);
    if (!answer) return Gone("its answer is malformed");
    in_.erase(0, in_.size() - rest.size());
    return *std::move(answer);
  }
}

absl::Status StoreClient::Set(const std::string& key, const std::string& value, absl::Time until) {
  MUSTER_ASSIGN_OR_RETURN(const StoreAnswer answer, Ask({StoreOperation::kSet, key, value}, until));
  if (answer.found) return absl::OkStatus();
  return absl::ResourceExhaustedError("the round's store takes no more keys or bytes");
}

absl::StatusOr<std::optional<std::string>> StoreClient::Get(const std::string& key,
                                                            absl::Time until) {
  MUSTER_ASSIGN_OR_RETURN(StoreAnswer answer, Ask({StoreOperation::kGet, key, ""}, until));
  std::optional<std::string> value;
  if (answer.found) value = std::move(answer.value);
  return value;
}

absl::StatusOr<std::string> StoreClient::WaitFor(const std::string& key, absl::Time until) {
  absl::Duration pause = absl::Microseconds(200);
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(std::optional<std::string> value, Get(key, until));
    if (value) return *std::move(value);
    MUSTER_RETURN_IF_ERROR(Pause(pause));
    pause = std::min(pause * 2, absl::Milliseconds(4));
  }
}

absl::StatusOr<int64_t> StoreClient::Add(const std::string& key, int64_t value, absl::Time until) {
  MUSTER_ASSIGN_OR_RETURN(const StoreAnswer answer,
                          Ask({StoreOperation::kAdd, key, absl::StrCat(value)}, until));
  int64_t sum = 0;
  if (!answer.found || !absl::SimpleAtoi(answer.value, &sum)) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is not a number"));
  }
  return sum;
}

}  // namespace muster::trainer
