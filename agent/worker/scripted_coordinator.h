#ifndef MUSTER_AGENT_WORKER_SCRIPTED_COORDINATOR_H_
#define MUSTER_AGENT_WORKER_SCRIPTED_COORDINATOR_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/testing/patience.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::agent {

// A coordinator that a test scripts: it serves one agent over a unix socket, keeps its messages,
// and sends those the test provides. Waits end after 20 s, with nullopt. Thread-safe.
class ScriptedCoordinator final : public v1alpha1::Coordinator::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1alpha1::OperatorMessage, v1alpha1::AgentMessage>;

  explicit ScriptedCoordinator(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedCoordinator() override { Shutdown(); }

  bool ok() const { return server_ != nullptr; }
  // Acts like a killed operator: streams break, and nothing answers any more.
  void Shutdown() {
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(absl::Now()));
    server_.reset();
  }

  // Ends the stream, and refuses every later one with `why`.
  void Refuse(const grpc::Status& why) {
    MutexLock lock(mu_);
    refusal_ = why;
    if (context_ != nullptr) context_->TryCancel();
  }

  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override {
    {
      MutexLock lock(mu_);
      if (!refusal_.ok()) return refusal_;
      stream_ = stream;
      context_ = context;
      changed_.NotifyAll();
    }
    v1alpha1::AgentMessage message;
    while (stream->Read(&message)) {
      MutexLock lock(mu_);
      said_.push_back(message);
      changed_.NotifyAll();
    }
    MutexLock lock(mu_);
    if (stream_ == stream) stream_ = nullptr;
    if (context_ == context) context_ = nullptr;
    return grpc::Status::OK;
  }

  // A Prepare without a spec gets the one of Greet.
  bool Say(v1alpha1::OperatorMessage message) {
    MutexLock lock(mu_);
    if (message.has_prepare() && !message.prepare().has_spec()) {
      *message.mutable_prepare()->mutable_spec() = spec_;
      message.mutable_prepare()->set_trajectory("as greeted");
    }
    const absl::Time deadline = absl::Now() + kPatience;
    while (stream_ == nullptr) {
      if (!changed_.WaitFor(mu_, deadline - absl::Now())) return false;
    }
    return stream_->Write(message);
  }

  // Returns the first message since the last call for which `wanted` holds; drops earlier ones.
  std::optional<v1alpha1::AgentMessage> WaitFor(
      const std::function<bool(const v1alpha1::AgentMessage&)>& wanted) {
    MutexLock lock(mu_);
    const absl::Time deadline = absl::Now() + kPatience;
    while (true) {
      while (!said_.empty()) {
        v1alpha1::AgentMessage message = std::move(said_.front());
        said_.pop_front();
        if (wanted(message)) return message;
      }
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration() || !changed_.WaitFor(mu_, left)) return std::nullopt;
    }
  }

  // Welcomes the agent; returns its Hello.
  std::optional<v1alpha1::AgentMessage> Greet(int64_t term, const v1alpha1::TrainingJobSpec& spec) {
    auto hello = WaitFor([](const auto& m) { return m.has_hello(); });
    v1alpha1::OperatorMessage message;
    message.mutable_welcome()->set_term(term);
    *message.mutable_welcome()->mutable_spec() = spec;
    {
      MutexLock lock(mu_);
      spec_ = spec;
    }
    Say(message);
    return hello;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  Stream* stream_ MUSTER_GUARDED_BY(mu_) = nullptr;
  grpc::ServerContext* context_ MUSTER_GUARDED_BY(mu_) = nullptr;
  grpc::Status refusal_ MUSTER_GUARDED_BY(mu_);
  v1alpha1::TrainingJobSpec spec_ MUSTER_GUARDED_BY(mu_);
  std::deque<v1alpha1::AgentMessage> said_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_SCRIPTED_COORDINATOR_H_
