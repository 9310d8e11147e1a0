#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "torch/csrc/distributed/c10d/PrefixStore.hpp"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/gloo_group.h"
#include "trainer/comm/local_communicator.h"

namespace muster::trainer {
namespace {

// Set while some connector of this process is in Connect().
std::atomic_flag connecting = ATOMIC_FLAG_INIT;

struct Endpoint {
  std::string host;
  int port = 0;
};

absl::StatusOr<Endpoint> ParseEndpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  Endpoint endpoint;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &endpoint.port) ||
      endpoint.port <= 0 || endpoint.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not host:port"));
  }
  endpoint.host = text.substr(0, colon);
  return endpoint;
}

// Whether somebody accepts connections there now.
bool Answers(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(endpoint.host.c_str(), absl::StrCat(endpoint.port).c_str(), &hints, &found) !=
      0) {
    return false;
  }
  bool answers = false;
  for (const addrinfo* a = found; a != nullptr && !answers; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
      answers = true;
    } else {
      pollfd wait = {.fd = fd, .events = POLLOUT, .revents = 0};
      int error = 0;
      socklen_t size = sizeof(error);
      answers = poll(&wait, 1, /*timeout=*/50) == 1 &&
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    }
    close(fd);
  }
  freeaddrinfo(found);
  return answers;
}

// A store's client being made. Connecting retries for a while on its own and cannot be ended: it
// runs on a thread that is left behind when nobody wants the result any more, and so shares this.
struct StoreOpening {
  Mutex mu;
  CondVar changed;
  bool done MUSTER_GUARDED_BY(mu) = false;
  c10::intrusive_ptr<c10d::TCPStore> store MUSTER_GUARDED_BY(mu);
  std::string error MUSTER_GUARDED_BY(mu);
};

std::shared_ptr<StoreOpening> OpenStore(const Endpoint& endpoint, absl::Duration deadline) {
  auto opening = std::make_shared<StoreOpening>();
  std::thread([opening, endpoint, deadline] {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(endpoint.port);
    options.waitWorkers = false;
    options.timeout = absl::ToChronoMilliseconds(deadline);
    c10::intrusive_ptr<c10d::TCPStore> store;
    std::string error;
    try {
      store = c10::make_intrusive<c10d::TCPStore>(endpoint.host, options);
    } catch (const std::exception& e) {
      error = e.what();
    }
    MutexLock lock(opening->mu);
    opening->done = true;
    opening->store = std::move(store);
    opening->error = error.substr(0, error.find('\n'));
    opening->changed.NotifyAll();
  }).detach();
  return opening;
}

}  // namespace

class GlooConnector::Impl {
 public:
  explicit Impl(GlooOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::unique_ptr<Communicator>> Connect();
  void Abort(std::string_view why);

 private:
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectBetween(absl::Time until);
  absl::Status WaitForStore(absl::Time until);
  absl::StatusOr<c10::intrusive_ptr<c10d::Store>> WaitForClient(absl::Time until);
  absl::Status WaitForRanks(c10d::Store& store, absl::Time until);
  c10::intrusive_ptr<c10d::ProcessGroupGloo> MakeGroup(const c10::intrusive_ptr<c10d::Store>& store,
                                                       absl::Duration timeout) const;
  std::set<ConnectedSocket> AppearedSockets(bool with_store) const MUSTER_EXCLUDES(mu_);
  absl::Status Aborted() const MUSTER_EXCLUDES(mu_);
  // Lets Abort() hurry; returns whether aborted.
  bool Pause(absl::Duration pause) MUSTER_EXCLUDES(mu_);

  const GlooOptions options_;
  Endpoint store_;
  mutable Mutex mu_;
  CondVar changed_;
  bool aborted_ MUSTER_GUARDED_BY(mu_) = false;
  bool running_ MUSTER_GUARDED_BY(mu_) = false;
  std::string why_ MUSTER_GUARDED_BY(mu_);
  std::set<ConnectedSocket> before_ MUSTER_GUARDED_BY(mu_);
};

absl::Status GlooConnector::Impl::Aborted() const {
  MutexLock lock(mu_);
  return aborted_ ? absl::AbortedError(why_) : absl::OkStatus();
}

bool GlooConnector::Impl::Pause(absl::Duration pause) {
  MutexLock lock(mu_);
  if (!aborted_) changed_.WaitFor(mu_, pause);
  return aborted_;
}

std::set<ConnectedSocket> GlooConnector::Impl::AppearedSockets(bool with_store) const {
  std::set<ConnectedSocket> sockets = FindConnectedSockets();
  MutexLock lock(mu_);
  sockets = NewSockets(before_, sockets);
  // The store's own end of other ranks' connections, if it is served by this process, is theirs.
  std::erase_if(sockets, [&](const ConnectedSocket& socket) {
    return socket.local_port == store_.port || (!with_store && socket.peer_port == store_.port);
  });
  return sockets;
}

absl::Status GlooConnector::Impl::WaitForStore(absl::Time until) {
  while (!Answers(store_)) {
    if (Clock::Real().Monotonic() >= until) {
      return absl::UnavailableError(absl::StrCat("no store answers at ", options_.store));
    }
    if (Pause(absl::Milliseconds(10))) return Aborted();
  }
  return absl::OkStatus();
}

absl::StatusOr<c10::intrusive_ptr<c10d::Store>> GlooConnector::Impl::WaitForClient(
    absl::Time until) {
  const std::shared_ptr<StoreOpening> opening = OpenStore(store_, options_.deadline);
  while (true) {
    MUSTER_RETURN_IF_ERROR(Aborted());
    MutexLock lock(opening->mu);
    if (opening->done && opening->store == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("the store at ", options_.store, " does not serve: ", opening->error));
    }
    if (opening->done) return opening->store;
    if (Clock::Real().Monotonic() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("the store at ", options_.store, " is silent"));
    }
    opening->changed.WaitFor(opening->mu, absl::Milliseconds(2));
  }
}

// Every rank says that it is here before any goes on: a missing one is named, and nobody is stuck
// in Gloo's own connecting, which cannot be ended cleanly.
absl::Status GlooConnector::Impl::WaitForRanks(c10d::Store& store, absl::Time until) {
  auto key = [](int rank) { return absl::StrCat("here/", rank); };
  store.set(key(options_.rank), std::vector<uint8_t>{1});
  std::vector<std::string> missing;
  for (int r = 0; r < options_.size; ++r) missing.push_back(key(r));
  absl::Duration pause = absl::Microseconds(500);
  while (!store.check(missing)) {
    if (Pause(pause)) return Aborted();
    pause = std::min(pause * 2, absl::Milliseconds(5));
    if (Clock::Real().Monotonic() < until) continue;
    std::vector<int> absent;
    for (int r = 0; r < options_.size; ++r) {
      if (!store.check({key(r)})) absent.push_back(r);
    }
    return absl::DeadlineExceededError(absl::StrCat("ranks that did not come to ", options_.tag,
                                                    ": ", absl::StrJoin(absent, ", ")));
  }
  return absl::OkStatus();
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> GlooConnector::Impl::MakeGroup(
    const c10::intrusive_ptr<c10d::Store>& store, absl::Duration timeout) const {
  auto options = c10d::ProcessGroupGloo::Options::create(absl::ToChronoMilliseconds(timeout));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(options_.host));
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, options_.rank, options_.size,
                                                           std::move(options));
  group->setTimeout(absl::ToChronoMilliseconds(options_.deadline));
  return group;
}

absl::StatusOr<std::unique_ptr<Communicator>> GlooConnector::Impl::ConnectBetween(
    absl::Time until) {
  MUSTER_RETURN_IF_ERROR(WaitForStore(until));
  try {
    MUSTER_ASSIGN_OR_RETURN(const c10::intrusive_ptr<c10d::Store> client, WaitForClient(until));
    auto store = c10::make_intrusive<c10d::PrefixStore>(options_.tag, client);
    MUSTER_RETURN_IF_ERROR(WaitForRanks(*store, until));
    GlooGroup group{.deadline = options_.deadline, .check = options_.check};
    group.process_group =
        MakeGroup(store, std::max(until - Clock::Real().Monotonic(), absl::Milliseconds(100)));
    group.sockets = AppearedSockets(/*with_store=*/false);
    MUSTER_RETURN_IF_ERROR(Aborted());
    return MakeCommunicatorOf(std::move(group));
  } catch (const c10::Error& e) {
    MUSTER_RETURN_IF_ERROR(Aborted());
    return absl::UnavailableError(
        absl::StrCat("cannot connect the ranks: ", e.what_without_backtrace()));
  } catch (const std::exception& e) {
    MUSTER_RETURN_IF_ERROR(Aborted());
    return absl::UnavailableError(absl::StrCat("cannot connect the ranks: ", e.what()));
  }
}

absl::StatusOr<std::unique_ptr<Communicator>> GlooConnector::Impl::Connect() {
  if (options_.size == 1) return std::move(MakeLocalCommunicators({.size = 1})[0]);
  MUSTER_ASSIGN_OR_RETURN(store_, ParseEndpoint(options_.store));
  if (connecting.test_and_set()) {
    return absl::FailedPreconditionError("this process is connecting another group already");
  }
  // A peer that is gone is an error of write(2), not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  {
    const std::set<ConnectedSocket> before = FindConnectedSockets();
    MutexLock lock(mu_);
    before_ = before;
    running_ = true;
  }
  auto result = ConnectBetween(Clock::Real().Monotonic() + options_.deadline);
  connecting.clear();
  MutexLock lock(mu_);
  running_ = false;
  changed_.NotifyAll();
  return result;
}

void GlooConnector::Impl::Abort(std::string_view why) {
  {
    MutexLock lock(mu_);
    if (!aborted_) why_ = std::string(why);
    aborted_ = true;
    changed_.NotifyAll();
  }
  // Sockets may still appear until Connect() looks at aborted_.
  for (int i = 0; i < 1000; ++i) {
    {
      MutexLock lock(mu_);
      if (!running_) return;
    }
    ShutDown(AppearedSockets(/*with_store=*/true));
    MutexLock lock(mu_);
    if (running_) changed_.WaitFor(mu_, absl::Milliseconds(1));
  }
}

GlooConnector::GlooConnector(GlooOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
GlooConnector::~GlooConnector() = default;

absl::StatusOr<std::unique_ptr<Communicator>> GlooConnector::Connect() { return impl_->Connect(); }
void GlooConnector::Abort(std::string_view why) { impl_->Abort(why); }

absl::StatusOr<std::unique_ptr<Communicator>> MakeGlooCommunicator(GlooOptions options) {
  return GlooConnector(std::move(options)).Connect();
}

}  // namespace muster::trainer
