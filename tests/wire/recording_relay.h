#ifndef MUSTER_TESTS_WIRE_RECORDING_RELAY_H_
#define MUSTER_TESTS_WIRE_RECORDING_RELAY_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"
#include "tests/wire/transcript.h"

namespace muster::wire {

// A coordinator that passes the stream of one agent on to the real one, and writes down what both
// say. Thread-safe.
class RecordingRelay final : public v1alpha1::Coordinator::Service {
 public:
  RecordingRelay(const std::string& address, const std::string& target)
      : stub_(v1alpha1::Coordinator::NewStub(
            grpc::CreateChannel(target, grpc::InsecureChannelCredentials()))) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~RecordingRelay() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  bool ok() const { return server_ != nullptr; }

  Transcript transcript() const {
    MutexLock lock(mu_);
    return transcript_;
  }

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1alpha1::OperatorMessage, v1alpha1::AgentMessage>* agent) override {
    grpc::ClientContext context;
    const auto real = stub_->Attach(&context);
    std::thread back([&] {
      v1alpha1::OperatorMessage message;
      while (real->Read(&message)) {
        Note(Speaker::kOperator, message.SerializeAsString());
        agent->Write(message);
      }
    });
    v1alpha1::AgentMessage message;
    while (agent->Read(&message)) {
      Note(Speaker::kAgent, message.SerializeAsString());
      real->Write(message);
    }
    context.TryCancel();
    back.join();
    return grpc::Status::OK;
  }

 private:
  void Note(Speaker speaker, std::string bytes) {
    MutexLock lock(mu_);
    transcript_.utterances.push_back({speaker, std::move(bytes)});
  }

  const std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  mutable Mutex mu_;
  Transcript transcript_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::wire

#endif  // MUSTER_TESTS_WIRE_RECORDING_RELAY_H_
