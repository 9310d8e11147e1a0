#ifndef MUSTER_TRAINER_ENGINE_LINK_LINK_H_
#define MUSTER_TRAINER_ENGINE_LINK_LINK_H_

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/net/link_frame.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::trainer {

// Sends this trainer's messages to its agent. Thread-safe.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void Send(const v1alpha1::FromTrainer& message) = 0;
};

// The agent's orders on their way from the link's reader to the engine's thread. A Prepare must end
// what is in flight before it is read: its arrival raises interrupt() and aborts the communicator
// in use. Thread-safe.
class Inbox {
 public:
  // Called by the reader.
  void Push(v1alpha1::ToTrainer message);
  void Close();  // the agent is gone

  // Called by the engine's thread. Take waits for a message, and returns none once closed;
  // TakeWithin returns none after `timeout`, too.
  std::optional<v1alpha1::ToTrainer> TryTake();
  std::optional<v1alpha1::ToTrainer> Take();
  std::optional<v1alpha1::ToTrainer> TakeWithin(absl::Duration timeout);
  // Returns the newest report about the replicas of this rank's copies, which waits in no queue: a
  // step that is under way can see it. Absent if none has come since ForgetReplica().
  std::optional<v1alpha1::ReplicaReport> replica();
  void ForgetReplica();
  // Raised while a Prepare waits to be taken, and for ever after Close.
  const std::atomic<bool>& interrupt() const { return interrupt_; }
  // Ends what the engine waits for. Called from any thread, and at once if an interrupt is already
  // raised. Everything it uses must stay alive until another is set. Null: there is nothing to end.
  using Abort = std::function<void(std::string_view why)>;
  void SetAbort(Abort abort);

 private:
  std::optional<v1alpha1::ToTrainer> TakeLocked() MUSTER_REQUIRES(mu_);

  std::atomic<bool> interrupt_ = false;
  Mutex mu_;
  CondVar changed_;
  std::deque<v1alpha1::ToTrainer> messages_ MUSTER_GUARDED_BY(mu_);
  std::optional<v1alpha1::ReplicaReport> replica_ MUSTER_GUARDED_BY(mu_);
  int prepares_ MUSTER_GUARDED_BY(mu_) = 0;
  bool closed_ MUSTER_GUARDED_BY(mu_) = false;
  Abort abort_ MUSTER_GUARDED_BY(mu_);
};

// The trainer's end of the socket pair.
class SocketLink final : public Outbox {
 public:
  explicit SocketLink(int fd) : fd_(fd) {}

  // Drops a message that cannot be sent: the reader notices the end of the link.
  void Send(const v1alpha1::FromTrainer& message) override;

  // Waits for bytes and pushes the messages that they complete. Returns false at the end of the
  // link, with the inbox closed. Call from one thread.
  bool RunOnce(Inbox& inbox);

 private:
  const int fd_;
  LinkFrameDecoder decoder_;
  Mutex send_mu_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_LINK_H_
