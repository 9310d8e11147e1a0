#include "agent/worker/client/client_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/worker/client/client_message.h"
#include "base/logging.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

// A chatty client must not starve the agent's other work.
constexpr int kPacketsAPass = 1024;

}  // namespace

absl::Status ClientSocket::Open(const std::string& path) {
  Close();
  MUSTER_ASSIGN_OR_RETURN(const sockaddr_un address, UnixSocketAddress(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, "cannot make a socket");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
  }
  // No client can connect before listen(), so that chmod() takes effect in time.
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), kMaxClients) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot listen at ", path));
  }
  path_ = path;
  listener_.emplace(std::move(fd));
  return absl::OkStatus();
}

void ClientSocket::Close() {
  clients_.clear();
  saves_ = 0;
  leave_at_.reset();
  if (!listener_) return;
  listener_.reset();
  unlink(path_.c_str());
}

void ClientSocket::Notify(const v1alpha1::ToTrainer& message) {
  if (message.has_save()) {
    ++saves_;
  } else if (message.has_stop()) {
    leave_at_ = clock_.Monotonic() + absl::Seconds(message.stop().seconds());
  } else {
    return;
  }
  clients_.remove_if([this](const UniqueFd& client) { return !Send(client.get()); });
}

// A client that has gone is left to Read(): it may have said something before. One that does not
// read comes back, if it lives, and is told the newest notice then.
bool ClientSocket::Send(int client) const {
  ClientNotice notice{saves_, std::nullopt};
  if (leave_at_) {
    const absl::Duration left = *leave_at_ - clock_.Monotonic();
    notice.leave_in = std::max(0.0, absl::ToDoubleSeconds(left));
  }
  const std::string packet = FormatClientNotice(notice);
  const ssize_t sent = send(client, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void ClientSocket::AddPollFds(std::vector<pollfd>* fds) const {
  if (listener_) fds->push_back({listener_->get(), POLLIN, 0});
  for (const UniqueFd& client : clients_) fds->push_back({client.get(), POLLIN, 0});
}

void ClientSocket::Accept() {
  while (listener_) {
    UniqueFd client(accept4(listener_->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.get() < 0) return;  // no client waits, or it has gone already
    if (clients_.size() >= kMaxClients) {
      MUSTER_LOG_LIMITED(WARN, path_, "too many clients of a rank", {"limit", kMaxClients});
      continue;
    }
    if (Send(client.get())) clients_.push_back(std::move(client));
  }
}

bool ClientSocket::Read(int client, std::vector<v1alpha1::FromTrainer>* messages) {
  char bytes[kMaxClientPacket];
  for (int i = 0; i < kPacketsAPass; ++i) {
    const ssize_t n = recv(client, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    absl::StatusOr<v1alpha1::FromTrainer> message =
        static_cast<size_t>(n) > sizeof(bytes)
            ? absl::InvalidArgumentError(absl::StrCat("a packet of ", n, " bytes; at most ",
                                                      kMaxClientPacket, " are read"))
            : ParseClientPacket(std::string_view(bytes, static_cast<size_t>(n)));
    if (!message.ok()) {
      MUSTER_LOG_LIMITED(WARN, path_, "a client of a rank was cut off",
                         {"error", message.status()});
      return false;
    }
    if (message->has_steps()) {
      const int64_t now = absl::ToUnixMicros(clock_.Wall());
      message->mutable_steps()->mutable_steps(0)->set_finished_at_us(now);
    }
    messages->push_back(*std::move(message));
  }
  return true;
}

std::vector<v1alpha1::FromTrainer> ClientSocket::Collect() {
  Accept();
  std::vector<v1alpha1::FromTrainer> messages;
  clients_.remove_if([&](const UniqueFd& client) { return !Read(client.get(), &messages); });
  return messages;
}

}  // namespace muster::agent
