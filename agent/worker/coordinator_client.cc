#include "agent/worker/coordinator_client.h"

#include <grpcpp/grpcpp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::agent {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;

// An operator that takes nothing while this many messages wait is left.
constexpr size_t kMaxOutgoing = 4096;
constexpr absl::Duration kMinBackoff = absl::Milliseconds(50);
constexpr absl::Duration kMaxBackoff = absl::Seconds(1);

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  // A channel of its own for each dial, so that gRPC's back-off does not add to ours.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

// What gRPC's threads hand over to ours. Thread-safe.
class CoordinatorClient::Mailbox {
 public:
  Mailbox() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() { close(event_fd_); }

  void Put(const Stream* from, OperatorMessage message) {
    MutexLock lock(mu_);
    if (from != current_) return;
    events_.push_back(OperatorSaid{std::move(message)});
    Wake();
  }
  void Close(const Stream* from) {
    MutexLock lock(mu_);
    if (from != current_) return;
    current_ = nullptr;
    events_.push_back(StreamClosed{});
    Wake();
  }
  void SetCurrent(const Stream* stream) {
    MutexLock lock(mu_);
    current_ = stream;
    if (stream != nullptr) ++calls_;
  }
  std::deque<Event> Take() {
    uint64_t ignored;
    while (read(event_fd_, &ignored, sizeof(ignored)) > 0) {
    }
    MutexLock lock(mu_);
    return std::exchange(events_, {});
  }
  // A stream whose call is over, to be destroyed by our thread: destroying a channel on gRPC's own
  // callback thread makes that thread join itself.
  void Bury(std::shared_ptr<Stream> stream) {
    MutexLock lock(mu_);
    dead_.push_back(std::move(stream));
    --calls_;
    buried_.NotifyAll();
  }
  void DestroyDead() {
    std::vector<std::shared_ptr<Stream>> dead;  // destroyed after the lock is released
    MutexLock lock(mu_);
    dead.swap(dead_);
  }
  void WaitForCalls(absl::Time deadline) {
    MutexLock lock(mu_);
    while (calls_ > 0) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration() || !buried_.WaitFor(mu_, left)) return;
    }
  }
  int fd() const { return event_fd_; }

 private:
  void Wake() {
    const uint64_t one = 1;
    if (write(event_fd_, &one, sizeof(one)) < 0) return;  // it is awake anyhow
  }

  const int event_fd_;
  Mutex mu_;
  const Stream* current_ MUSTER_GUARDED_BY(mu_) = nullptr;
  std::deque<Event> events_ MUSTER_GUARDED_BY(mu_);
  CondVar buried_;
  std::vector<std::shared_ptr<Stream>> dead_ MUSTER_GUARDED_BY(mu_);
  int calls_ MUSTER_GUARDED_BY(mu_) = 0;  // not yet over
};

// One call. gRPC calls the On... methods on its threads.
class CoordinatorClient::Stream : public grpc::ClientBidiReactor<AgentMessage, OperatorMessage> {
 public:
  Stream(std::shared_ptr<Mailbox> mailbox, std::shared_ptr<grpc::Channel> channel,
         const std::string& address)
      : mailbox_(std::move(mailbox)),
        stub_(v1alpha1::Coordinator::NewStub(std::move(channel))),
        address_(address) {}

  void Start(std::shared_ptr<Stream> self) {
    self_ = std::move(self);
    stub_->async()->Attach(&context_, this);
    // Writes are started outside of gRPC's callbacks: until the hold goes, the call cannot end
    // under them.
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Send(const AgentMessage& message) {
    MutexLock lock(mu_);
    if (closed_) return;
    outgoing_.push_back(message);
    if (outgoing_.size() > kMaxOutgoing) return context_.TryCancel();
    WriteNext();
  }
  void Cancel() { context_.TryCancel(); }

  // Says that nothing follows and waits for the operator to hang up: a call that is merely
  // cancelled may lose what was written last.
  void HangUp(absl::Time deadline) {
    MutexLock lock(mu_);
    hanging_up_ = true;
    WriteNext();
    while (!done_) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration() || !ended_.WaitFor(mu_, left)) return;
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        MutexLock lock(mu_);
        closed_ = true;
      }
      return RemoveHold();  // OnDone follows, perhaps inside of it
    }
    mailbox_->Put(this, std::move(incoming_));
    incoming_.Clear();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mu_);
    writing_ = false;
    if (!ok) outgoing_.clear();
    WriteNext();
  }

  void OnDone(const grpc::Status& status) override {
    MUSTER_LOG(DEBUG, "stream ended", {"address", address_}, {"error", status.error_message()});
    {
      MutexLock lock(mu_);
      done_ = true;
      ended_.NotifyAll();
    }
    const std::shared_ptr<Mailbox> mailbox = mailbox_;
    mailbox->Close(this);
    mailbox->Bury(std::move(self_));  // our thread may destroy this at once
  }

 private:
  void WriteNext() MUSTER_REQUIRES(mu_) {
    if (writing_ || closed_) return;
    if (outgoing_.empty()) {
      if (hanging_up_ && !std::exchange(hung_up_, true)) StartWritesDone();
      return;
    }
    writing_ = true;
    written_message_ = std::move(outgoing_.front());
    outgoing_.pop_front();
    StartWrite(&written_message_);
  }

  const std::shared_ptr<Mailbox> mailbox_;
  const std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  const std::string address_;
  grpc::ClientContext context_;
  std::shared_ptr<Stream> self_;
  OperatorMessage incoming_;
  Mutex mu_;
  CondVar ended_;
  std::deque<AgentMessage> outgoing_ MUSTER_GUARDED_BY(mu_);
  AgentMessage written_message_ MUSTER_GUARDED_BY(mu_);
  bool writing_ MUSTER_GUARDED_BY(mu_) = false;
  bool hanging_up_ MUSTER_GUARDED_BY(mu_) = false;
  bool hung_up_ MUSTER_GUARDED_BY(mu_) = false;
  bool closed_ MUSTER_GUARDED_BY(mu_) = false;  // nothing may be started any more
  bool done_ MUSTER_GUARDED_BY(mu_) = false;
};

CoordinatorClient::CoordinatorClient(std::vector<std::string> addresses)
    : addresses_(std::move(addresses)),
      mailbox_(std::make_shared<Mailbox>()),
      backoff_(kMinBackoff) {}

CoordinatorClient::~CoordinatorClient() {
  mailbox_->SetCurrent(nullptr);
  if (stream_ != nullptr) stream_->Cancel();
  stream_.reset();
  mailbox_->WaitForCalls(absl::Now() + absl::Seconds(2));
  mailbox_->DestroyDead();
}

int CoordinatorClient::poll_fd() const { return mailbox_->fd(); }

std::vector<Event> CoordinatorClient::Collect(absl::Time now) {
  std::vector<Event> events;
  mailbox_->DestroyDead();
  for (Event& event : mailbox_->Take()) {
    if (std::holds_alternative<OperatorSaid>(event)) backoff_ = kMinBackoff;
    if (std::holds_alternative<StreamClosed>(event)) {
      stream_.reset();
      next_dial_ = now + backoff_;
      backoff_ = std::min(2 * backoff_, kMaxBackoff);
    }
    events.push_back(std::move(event));
  }
  if (stream_ == nullptr && now >= next_dial_) {
    Dial();
    events.push_back(StreamOpened{});
  }
  return events;
}

void CoordinatorClient::Dial() {
  std::string address = std::exchange(preferred_, "");
  if (address.empty()) address = addresses_[next_address_++ % addresses_.size()];
  std::shared_ptr<grpc::Channel> channel = NewChannel(address);
  if (first_channel_ == nullptr) first_channel_ = channel;
  stream_ = std::make_shared<Stream>(mailbox_, std::move(channel), address);
  mailbox_->SetCurrent(stream_.get());
  stream_->Start(stream_);
}

void CoordinatorClient::Send(const AgentMessage& message) {
  if (stream_ != nullptr) stream_->Send(message);
}

void CoordinatorClient::Redial(const std::string& address) {
  preferred_ = address;
  if (stream_ != nullptr) stream_->Cancel();  // reported as StreamClosed, then dialled
}

void CoordinatorClient::HangUp(absl::Duration timeout) {
  if (stream_ != nullptr) stream_->HangUp(absl::Now() + timeout);
}

}  // namespace muster::agent
