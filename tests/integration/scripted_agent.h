#ifndef MUSTER_TESTS_INTEGRATION_SCRIPTED_AGENT_H_
#define MUSTER_TESTS_INTEGRATION_SCRIPTED_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {

// A worker agent without ranks, over a real stream. It answers Prepare, Go and Stop as a healthy
// worker does and sends other reports when the test calls for them. Like a real agent it redials
// until it is killed or stopped. Thread-safe.
class ScriptedAgent {
 public:
  // The orders that the agent leaves unanswered.
  struct UnansweredOrders {
    bool to_prepare = false;
    bool to_go = false;
  };

  ScriptedAgent(std::string address, v1alpha1::WorkerId worker, int ranks)
      : ScriptedAgent(std::move(address), std::move(worker), ranks, UnansweredOrders()) {}
  ScriptedAgent(std::string address, v1alpha1::WorkerId worker, int ranks,
                UnansweredOrders unanswered)
      : address_(std::move(address)),
        worker_(std::move(worker)),
        ranks_(ranks),
        unanswered_(unanswered) {
    thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedAgent() { Kill(); }

  // Ends the agent at once, as SIGKILL would.
  void Kill() {
    if (stopping_.exchange(true)) return;
    {
      MutexLock lock(mu_);
      if (context_ != nullptr) context_->TryCancel();
    }
    thread_.join();
  }

  // The round in which this worker is active; {0, 0}: none.
  v1alpha1::RoundId active() const {
    MutexLock lock(mu_);
    return active_;
  }
  int64_t term() const {
    MutexLock lock(mu_);
    return term_;
  }
  std::vector<v1alpha1::OperatorMessage> orders() const {
    MutexLock lock(mu_);
    return orders_;
  }
  grpc::Status last_refusal() const {
    MutexLock lock(mu_);
    return last_status_;
  }
  bool stopped() const { return stopped_; }

  void ReportStep(int64_t step, double loss) {
    v1alpha1::AgentMessage message;
    auto& steps = *message.mutable_steps();
    auto& report = *steps.add_steps();
    report.mutable_version()->set_step(step);
    report.set_loss(loss);
    report.set_applied(std::isfinite(loss));
    report.set_tokens(100);
    report.set_finished_at_us(step * 10'000);
    Say(message, [&]() MUSTER_REQUIRES(mu_) { *steps.mutable_round() = active_; });
  }
  void Finish(int64_t step) {
    v1alpha1::AgentMessage message;
    auto& finished = *message.mutable_finished();
    finished.set_succeeded(true);
    finished.mutable_version()->set_step(step);
    Say(message, [&]() MUSTER_REQUIRES(mu_) {
      *finished.mutable_round() = active_;
      finished_ = message;
    });
  }
  void ReportExit(int exit_code) {
    v1alpha1::AgentMessage message;
    auto& exited = *message.mutable_rank_exited();
    exited.set_exit_code(exit_code);
    exited.set_restarted(true);
    exited.set_reason("Exited");
    Say(message, [&]() MUSTER_REQUIRES(mu_) { *exited.mutable_round() = active_; });
  }

 private:
  using Stream = grpc::ClientReaderWriter<v1alpha1::AgentMessage, v1alpha1::OperatorMessage>;

  template <typename Prepare>
  void Say(const v1alpha1::AgentMessage& message, Prepare prepare);

  void Run() {
    while (!stopping_ && !stopped_) {
      RunStream();
      MutexLock lock(mu_);
      // A pause between dials, short enough for Kill() to wait for.
      if (!stopping_ && !stopped_) pause_.WaitFor(mu_, absl::Milliseconds(20));
    }
  }

  void RunStream() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no shared back-off
    auto stub = v1alpha1::Coordinator::NewStub(
        grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments));
    auto context = std::make_unique<grpc::ClientContext>();
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      context_ = context.get();
    }
    auto stream = stub->Attach(context.get());
    v1alpha1::AgentMessage hello;
    *hello.mutable_hello()->mutable_worker() = worker_;
    hello.mutable_hello()->set_ranks(ranks_);
    {
      MutexLock lock(mu_);
      *hello.mutable_hello()->mutable_active() = active_;
      *hello.mutable_hello()->mutable_seen() = active_;
      stream->Write(hello);
      stream_ = stream.get();
    }
    v1alpha1::OperatorMessage message;
    while (stream->Read(&message)) Obey(message);
    MutexLock lock(mu_);
    stream_ = nullptr;
    last_status_ = stream->Finish();
    context_ = nullptr;
  }

  void Obey(const v1alpha1::OperatorMessage& message) {
    MutexLock lock(mu_);
    orders_.push_back(message);
    v1alpha1::AgentMessage answer;
    if (message.has_welcome()) {
      term_ = message.welcome().term();
      if (finished_.has_finished()) stream_->Write(finished_);
      return;
    }
    if (message.has_prepare() ? unanswered_.to_prepare : message.has_go() && unanswered_.to_go)
      return;
    if (message.has_prepare()) {
      active_.Clear();
      trajectory_ = message.prepare().trajectory();
      *answer.mutable_ready()->mutable_round() = message.prepare().round();
      for (int rank = 0; rank < ranks_; ++rank) {
        auto& ready = *answer.mutable_ready()->add_ranks();
        ready.set_local_rank(rank);
        ready.set_endpoint("127.0.0.1:1");
      }
    } else if (message.has_go()) {
      active_ = message.go().round();
      *answer.mutable_joined()->mutable_round() = active_;
      answer.mutable_joined()->set_trajectory(trajectory_);
    } else if (message.has_stop()) {
      stopped_ = true;
      context_->TryCancel();
      return;
    } else {
      return;
    }
    stream_->Write(answer);
  }

  const std::string address_;
  const v1alpha1::WorkerId worker_;
  const int ranks_;
  const UnansweredOrders unanswered_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> stopped_{false};

  mutable Mutex mu_;
  CondVar pause_;
  grpc::ClientContext* context_ MUSTER_GUARDED_BY(mu_) = nullptr;
  Stream* stream_ MUSTER_GUARDED_BY(mu_) = nullptr;
  v1alpha1::RoundId active_ MUSTER_GUARDED_BY(mu_);
  std::string trajectory_ MUSTER_GUARDED_BY(mu_);
  int64_t term_ MUSTER_GUARDED_BY(mu_) = 0;
  v1alpha1::AgentMessage finished_ MUSTER_GUARDED_BY(mu_);
  std::vector<v1alpha1::OperatorMessage> orders_ MUSTER_GUARDED_BY(mu_);
  grpc::Status last_status_ MUSTER_GUARDED_BY(mu_);
  std::thread thread_;
};

template <typename Prepare>
void ScriptedAgent::Say(const v1alpha1::AgentMessage& message, Prepare prepare) {
  MutexLock lock(mu_);
  prepare();
  if (stream_ != nullptr) stream_->Write(message);
}

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_SCRIPTED_AGENT_H_
