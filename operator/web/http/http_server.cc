#include "operator/web/http/http_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"
#include "operator/web/http/http_connection.h"
#include "operator/web/http/listener.h"

namespace muster::control {
namespace {

// The longest wait when nothing happens.
constexpr absl::Duration kLongestWait = absl::Seconds(1);
// The pause in accepting after the process ran out of file descriptors.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

using State = HttpConnection::State;

absl::Time Now() { return Clock::Real().Monotonic(); }

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Listener listener, HttpHandler handler, HttpServerOptions options, TlsKeys keys)
      : listener_(std::move(listener)),
        handler_(std::move(handler)),
        options_(options),
        wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (keys != nullptr) tls_ = std::make_unique<TlsAcceptor>(std::move(keys));
    for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
    reader_ = std::thread([this] { Run(); });
  }
  ~Impl() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    Wake();
    reader_.join();
    for (std::thread& worker : workers_) worker.join();
    connections_.clear();
    ::close(listener_.fd);
    ::close(wake_fd_);
    if (listener_.is_unix) ::unlink(UnixPath(listener_.address).c_str());
  }
  const std::string& address() const { return listener_.address; }

 private:
  struct Asked {
    uint64_t connection;
    HttpRequest request;
  };
  struct Answered {
    uint64_t connection;
    HttpResponse response;
  };

  void Run();
  void Work();
  bool IsStopping() {
    MutexLock lock(mu_);
    return stopping_;
  }
  void Wake() {
    const uint64_t one = 1;
    (void)!::write(wake_fd_, &one, sizeof(one));
  }

  std::vector<uint64_t> Wait(bool& may_accept);
  void AcceptAll();
  void Add(Accepted accepted);
  bool MakeRoom(const std::string& peer);
  void TakeAnswers();
  void Proceed(uint64_t id);
  void Dispatch(uint64_t id, HttpConnection& connection);
  HttpResponse Handle(const HttpRequest& request);

  Listener listener_;
  const HttpHandler handler_;
  const HttpServerOptions options_;
  const int wake_fd_;
  std::unique_ptr<TlsAcceptor> tls_;  // null: plain

  // Used by the reading thread only. Ids ascend, so the first is the oldest.
  std::map<uint64_t, std::unique_ptr<HttpConnection>> connections_;
  uint64_t next_id_ = 1;
  absl::Time accept_from_ = absl::InfinitePast();

  Mutex mu_;
  CondVar changed_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::deque<Asked> asked_ MUSTER_GUARDED_BY(mu_);
  std::vector<Answered> answered_ MUSTER_GUARDED_BY(mu_);

  std::vector<std::thread> workers_;
  std::thread reader_;
};

void HttpServer::Impl::Run() {
  while (!IsStopping()) {
    bool may_accept = false;
    const std::vector<uint64_t> ready = Wait(may_accept);
    TakeAnswers();
    for (const uint64_t id : ready) Proceed(id);
    if (may_accept) AcceptAll();
  }
}

// Waits until a connection can proceed or has reached its deadline, and returns all of those.
std::vector<uint64_t> HttpServer::Impl::Wait(bool& may_accept) {
  const absl::Time before = Now();
  absl::Time until = before + kLongestWait;
  std::vector<pollfd> fds = {{wake_fd_, POLLIN, 0}};
  fds.push_back({before >= accept_from_ ? listener_.fd : -1, POLLIN, 0});
  std::vector<uint64_t> ids;
  for (const auto& [id, connection] : connections_) {
    if (connection->state() == State::kWorking) continue;
    const short events = connection->wants_write() ? POLLOUT : POLLIN;
    fds.push_back({connection->socket(), events, 0});
    ids.push_back(id);
    until = std::min(until, connection->deadline());
  }
  const int64_t ms = std::max<int64_t>(0, absl::ToInt64Milliseconds(until - before) + 1);
  if (::poll(fds.data(), fds.size(), static_cast<int>(ms)) < 0) return {};
  may_accept = fds[1].revents != 0;
  const absl::Time now = Now();
  std::vector<uint64_t> ready;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool late = connections_.at(ids[i])->deadline() <= now;
    if (fds[i + 2].revents != 0 || late) ready.push_back(ids[i]);
  }
  return ready;
}

void HttpServer::Impl::Proceed(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  HttpConnection& connection = *found->second;
  const absl::Time now = Now();
  const absl::Time deadline = connection.deadline();
  while (true) {
    connection.Proceed(now);
    if (connection.state() != State::kWorking) break;
    Dispatch(id, connection);
    if (connection.state() == State::kWorking) return;
  }
  // Bytes that arrived just in time have moved the deadline; a connection that only waited is
  // closed.
  const bool late = deadline <= now && connection.deadline() <= now;
  if (connection.state() == State::kClosed || late) connections_.erase(found);
}

void HttpServer::Impl::Dispatch(uint64_t id, HttpConnection& connection) {
  HttpRequest request = connection.TakeRequest();
  if (options_.workers == 0) return connection.Answer(Handle(request), Now());
  MutexLock lock(mu_);
  asked_.push_back({id, std::move(request)});
  changed_.NotifyOne();
}

void HttpServer::Impl::TakeAnswers() {
  uint64_t count = 0;
  (void)!::read(wake_fd_, &count, sizeof(count));
  std::vector<Answered> answered;
  {
    MutexLock lock(mu_);
    answered.swap(answered_);
  }
  for (const Answered& one : answered) {
    const auto found = connections_.find(one.connection);
    if (found == connections_.end()) continue;
    found->second->Answer(one.response, Now());
    Proceed(one.connection);
  }
}

void HttpServer::Impl::AcceptAll() {
  while (true) {
    Accepted accepted = Accept(listener_);
    if (accepted.fd >= 0) {
      Add(std::move(accepted));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      accept_from_ = Now() + kAcceptPause;
    }
    return;
  }
}

void HttpServer::Impl::Add(Accepted accepted) {
  if (!MakeRoom(accepted.peer)) {
    ::close(accepted.fd);
    return;
  }
  std::unique_ptr<Channel> channel;
  if (tls_ == nullptr) {
    channel = PlainChannel(accepted.fd);
  } else {
    auto made = tls_->Accept(accepted.fd);
    if (!made.ok()) {
      MUSTER_LOG_LIMITED(WARN, "http", "no TLS connection", {"error", made.status()});
      return;
    }
    channel = *std::move(made);
  }
  const uint64_t id = next_id_++;
  connections_.emplace(id, std::make_unique<HttpConnection>(
                               std::move(channel), std::move(accepted.peer), options_.request,
                               HttpConnection::Times{options_.patience, options_.idle},
                               options_.requests_per_connection, Now()));
  Proceed(id);
}

// Returns false if every connection that could give way is being answered.
bool HttpServer::Impl::MakeRoom(const std::string& peer) {
  size_t of_peer = 0;
  auto oldest = connections_.end(), oldest_of_peer = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    const HttpConnection& connection = *it->second;
    const bool same = connection.peer() == peer;
    of_peer += same ? 1 : 0;
    if (connection.state() == State::kWorking) continue;
    if (oldest == connections_.end()) oldest = it;
    if (same && oldest_of_peer == connections_.end()) oldest_of_peer = it;
  }
  const bool peer_is_full = of_peer >= options_.connections_per_peer;
  if (!peer_is_full && connections_.size() < options_.connections) return true;
  const auto victim = peer_is_full ? oldest_of_peer : oldest;
  if (victim == connections_.end()) return false;
  connections_.erase(victim);
  return true;
}

void HttpServer::Impl::Work() {
  while (true) {
    Asked asked;
    {
      MutexLock lock(mu_);
      while (asked_.empty() && !stopping_) changed_.Wait(mu_);
      if (stopping_) return;
      asked = std::move(asked_.front());
      asked_.pop_front();
    }
    HttpResponse response = Handle(asked.request);
    {
      MutexLock lock(mu_);
      answered_.push_back({asked.connection, std::move(response)});
    }
    Wake();
  }
}

// The JSON library throws on an unexpected type; a page must not end the process.
HttpResponse HttpServer::Impl::Handle(const HttpRequest& request) {
  try {
    return handler_(request);
  } catch (const std::exception& thrown) {
    MUSTER_LOG_LIMITED(ERROR, "http", "a page failed", {"path", request.path},
                       {"error", thrown.what()});
    return ErrorResponse(500, "the request failed");
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::string HttpServer::address() const { return impl_ == nullptr ? "" : impl_->address(); }
void HttpServer::Stop() { impl_.reset(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              HttpHandler handler,
                                                              HttpServerOptions options,
                                                              TlsKeys keys) {
  if (keys != nullptr) MUSTER_RETURN_IF_ERROR(keys().status());
  MUSTER_ASSIGN_OR_RETURN(Listener listener, Listen(address));
  ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that may be gone
  return std::unique_ptr<HttpServer>(new HttpServer(
      std::make_unique<Impl>(std::move(listener), std::move(handler), options, std::move(keys))));
}

}  // namespace muster::control
