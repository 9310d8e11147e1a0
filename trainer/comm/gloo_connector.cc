#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/gloo_group.h"
#include "trainer/comm/link_check.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/comm/meeting.h"
#include "trainer/comm/store_client.h"

namespace muster::trainer {
namespace {

// Refuses the TLS transport, because it protects nothing: in this LibTorch it reads its keys and
// then sends in clear text, since the pairs of its contexts are made by those of TCP.
absl::Status CheckTransport() {
  const char* transport = std::getenv("GLOO_DEVICE_TRANSPORT");
  if (transport == nullptr || std::string_view(transport) != "TCP_TLS") return absl::OkStatus();
  return absl::FailedPreconditionError(
      "GLOO_DEVICE_TRANSPORT is TCP_TLS, which encrypts nothing in this LibTorch: leave it out, "
      "and "
      "encrypt the network of the pods instead");
}

// Set while some connector of this process is in Connect().
std::atomic_flag connecting = ATOMIC_FLAG_INIT;

// The store in which Gloo finds addresses, over a StoreClient. c10d expects exceptions;
// ConnectBetween catches them.
class GlooStore final : public c10d::Store {
 public:
  GlooStore(std::shared_ptr<StoreClient> client, std::string tag, absl::Time until)
      : client_(std::move(client)), prefix_(tag + "/"), until_(until) {}

  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::make_intrusive<GlooStore>(client_, prefix_.substr(0, prefix_.size() - 1), until_);
  }
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    Must(client_->Set(prefix_ + key, std::string(value.begin(), value.end()), until_));
  }
  std::vector<uint8_t> get(const std::string& key) override {
    const std::string value = Must(client_->WaitFor(prefix_ + key, until_));
    return {value.begin(), value.end()};
  }
  int64_t add(const std::string& key, int64_t value) override {
    return Must(client_->Add(prefix_ + key, value, until_));
  }
  bool check(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      if (!Must(client_->Get(prefix_ + key, until_))) return false;
    }
    return true;
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) Must(client_->WaitFor(prefix_ + key, until_));
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }
  bool deleteKey(const std::string&) override { throw std::logic_error("deleteKey is not served"); }
  int64_t getNumKeys() override { throw std::logic_error("getNumKeys is not served"); }
  std::vector<uint8_t> compareSet(const std::string&, const std::vector<uint8_t>&,
                                  const std::vector<uint8_t>&) override {
    throw std::logic_error("compareSet is not served");
  }

 private:
  static void Must(const absl::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  template <typename T>
  static T Must(absl::StatusOr<T> value) {
    Must(value.status());
    return *std::move(value);
  }

  const std::shared_ptr<StoreClient> client_;  // Gloo keeps copies of its store
  const std::string prefix_;
  const absl::Time until_;
};

}  // namespace

class GlooConnector::Impl {
 public:
  explicit Impl(GlooOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::unique_ptr<Communicator>> Connect();
  void Abort(std::string_view why);

 private:
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectBetween(absl::Time until);
  c10::intrusive_ptr<c10d::ProcessGroupGloo> MakeGroup(absl::Time until) const;
  std::set<ConnectedSocket> AppearedSockets() const MUSTER_EXCLUDES(mu_);
  // Returns the abort's reason if there was one, else `status`.
  absl::Status OrAborted(const absl::Status& status) const MUSTER_EXCLUDES(mu_);

  const GlooOptions options_;
  const std::shared_ptr<StoreClient> client_ = std::make_shared<StoreClient>();  // shared with Gloo
  mutable Mutex mu_;
  CondVar changed_;
  bool aborted_ MUSTER_GUARDED_BY(mu_) = false;
  bool running_ MUSTER_GUARDED_BY(mu_) = false;
  std::string why_ MUSTER_GUARDED_BY(mu_);
  std::set<ConnectedSocket> before_ MUSTER_GUARDED_BY(mu_);
};

absl::Status GlooConnector::Impl::OrAborted(const absl::Status& status) const {
  MutexLock lock(mu_);
  return aborted_ ? absl::AbortedError(why_) : status;
}

std::set<ConnectedSocket> GlooConnector::Impl::AppearedSockets() const {
  const size_t colon = options_.store.rfind(':');
  const std::string port = options_.store.substr(colon + 1);
  const std::set<ConnectedSocket> sockets = FindConnectedSockets();
  MutexLock lock(mu_);
  std::set<ConnectedSocket> appeared = NewSockets(before_, sockets);
  // Connections to the store are not the group's; this process may even be their server.
  std::erase_if(appeared, [&](const ConnectedSocket& socket) {
    return absl::StrCat(socket.local_port) == port || absl::StrCat(socket.peer_port) == port;
  });
  return appeared;
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> GlooConnector::Impl::MakeGroup(absl::Time until) const {
  const absl::Duration left = std::max(until - Clock::Real().Monotonic(), absl::Milliseconds(100));
  auto options = c10d::ProcessGroupGloo::Options::create(absl::ToChronoMilliseconds(left));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(options_.host));
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<GlooStore>(client_, options_.tag, until), options_.rank, options_.size,
      std::move(options));
  group->setTimeout(absl::ToChronoMilliseconds(options_.deadline));
  return group;
}

absl::StatusOr<std::unique_ptr<Communicator>> GlooConnector::Impl::ConnectBetween(
    absl::Time until) {
  MUSTER_RETURN_IF_ERROR(client_->Connect(options_.store, options_.secret, until));
  MUSTER_RETURN_IF_ERROR(MeetRanks(*client_, options_.tag, options_.rank, options_.size, until));
  GlooGroup group{.deadline = options_.deadline, .check = options_.check};
  try {
    group.process_group = MakeGroup(until);
  } catch (const c10::Error& e) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect the ranks: ", e.what_without_backtrace()));
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("cannot connect the ranks: ", e.what()));
  }
  group.sockets = AppearedSockets();
  MUSTER_RETURN_IF_ERROR(
      CheckLinks(*client_, options_.tag, options_.rank, options_.size, group.sockets, until));
  return MakeGlooCommunicatorFromGroup(std::move(group));
}

absl::StatusOr<std::unique_ptr<Communicator>> GlooConnector::Impl::Connect() {
  if (options_.size == 1) return std::move(MakeLocalCommunicators({.size = 1})[0]);
  MUSTER_RETURN_IF_ERROR(CheckTransport());
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
  if (absl::Status status = OrAborted(result.status()); !status.ok()) result = status;
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
  }
  client_->Abort();
  // Sockets may still appear until Connect() returns.
  for (int i = 0; i < 1000; ++i) {
    {
      MutexLock lock(mu_);
      if (!running_) return;
      changed_.WaitFor(mu_, absl::Milliseconds(1));
      if (!running_) return;
    }
    ShutDown(AppearedSockets());
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
