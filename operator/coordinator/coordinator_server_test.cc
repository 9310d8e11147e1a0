#include "operator/coordinator/coordinator_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class CoordinatorServerTest : public testing::Test {
 protected:
  CoordinatorServerTest() {
    char folder[] = "/tmp/muster-coordinator-XXXXXX";
    folder_ = ::mkdtemp(folder);
    path_ = folder_ + "/run/c.sock";
    JobRegistration job;
    job.key = "default/gpt";
    job.uid = "uid";
    job.term = 5;
    registry_.SetLeader();
    registry_.Register(job);
  }
  ~CoordinatorServerTest() override {
    server_.reset();
    ::unlink(path_.c_str());
    ::rmdir((folder_ + "/run").c_str());
    ::rmdir(folder_.c_str());
  }

  void Start(const std::string& address) {
    auto started = CoordinatorServer::Start({address}, registry_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    stub_ = v1alpha1::Coordinator::NewStub(
        grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials()));
  }
  static v1alpha1::AgentMessage Hello(int incarnation) {
    v1alpha1::AgentMessage message;
    auto& worker = *message.mutable_hello()->mutable_worker();
    worker.set_job("gpt");
    worker.set_job_uid("uid");
    worker.set_incarnation(incarnation);
    worker.set_pod_uid("pod");
    return message;
  }

  std::string folder_;
  std::string path_;
  AgentRegistry registry_{Clock::Real(), nullptr, [](const std::string&) {}};
  std::unique_ptr<CoordinatorServer> server_;
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
};

TEST_F(CoordinatorServerTest, ServesAStreamOverAPrivateUnixSocket) {
  Start("unix:" + path_);
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder_ + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  v1alpha1::OperatorMessage message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.welcome().term(), 5);
  v1alpha1::OperatorMessage order;
  order.mutable_prepare()->set_membership("hash");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(registry_.SendOrder({"uid", 0, 1, "pod"}, Encode(order)).ok());
    ASSERT_TRUE(stream->Read(&message));
    EXPECT_EQ(message.prepare().membership(), "hash");
  }
  stream->WritesDone();
  while (stream->Read(&message)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  // The peer may see the end before the server has detached the stream: wait for the server.
  server_.reset();
  EXPECT_EQ(registry_.attached(), 0);
}

TEST_F(CoordinatorServerTest, ReportsUntilWhenItHasReadAllMessages) {
  const absl::Time start = Clock::Real().Monotonic();
  EXPECT_EQ(registry_.heard_until(), absl::InfiniteFuture());
  Start("unix:" + path_);
  absl::Time heard = registry_.heard_until();
  while (heard == absl::InfiniteFuture()) {
    ASSERT_LT(Clock::Real().Monotonic(), start + kPatience);
    ::poll(nullptr, 0, 10);
    heard = registry_.heard_until();
  }
  EXPECT_GE(heard, start);
  EXPECT_LE(heard, Clock::Real().Monotonic());
}

TEST_F(CoordinatorServerTest, APortIsNeverServedWithoutCertificates) {
  const auto plain = CoordinatorServer::Start({"127.0.0.1:0"}, registry_);
  EXPECT_EQ(plain.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plain.status().message()), HasSubstr("without certificates"));
}

TEST_F(CoordinatorServerTest, OverAUnixSocketIdentifyIsUnimplemented) {
  Start("unix:" + path_);
  grpc::ClientContext context;
  v1alpha1::IdentifyResponse response;
  EXPECT_EQ(stub_->Identify(&context, {}, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(CoordinatorServerTest, ALeaderThatStepsDownNamesTheNextOne) {
  Start("unix:" + path_);
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  v1alpha1::OperatorMessage message;
  ASSERT_TRUE(stream->Read(&message));
  registry_.SetStandby("leader:2");
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.not_leader().address(), "leader:2");
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(registry_.attached(), 0);
  EXPECT_FALSE(registry_.IsRegistered("uid"));
}

TEST_F(CoordinatorServerTest, RefusesAStreamThatDoesNotBeginWithHello) {
  Start("unix:" + path_);
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  v1alpha1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  ASSERT_TRUE(stream->Write(heartbeat));
  v1alpha1::OperatorMessage message;
  EXPECT_FALSE(stream->Read(&message));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("must be AgentHello or NodeHello"));
}

TEST_F(CoordinatorServerTest, AStandbySaysSoAndEndsTheStream) {
  registry_.SetStandby("leader:1");
  Start("unix:" + path_);
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  v1alpha1::OperatorMessage message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.not_leader().address(), "leader:1");
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CoordinatorServerTest, APeerThatDoesNotReadIsCutOff) {
  Start("unix:" + path_);
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  v1alpha1::OperatorMessage message;
  ASSERT_TRUE(stream->Read(&message));
  v1alpha1::OperatorMessage large;
  large.mutable_prepare()->set_membership(std::string(1 << 20, 'x'));
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = registry_.SendOrder({"uid", 0, 1, "pod"}, Encode(large));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(CoordinatorServerTest, AMessageOfMegabytesEndsItsOwnStreamAlone) {
  Start("unix:" + path_);
  v1alpha1::OperatorMessage message;
  grpc::ClientContext honest_context;
  auto honest = stub_->Attach(&honest_context);
  v1alpha1::AgentMessage hello = Hello(1);
  hello.mutable_hello()->mutable_worker()->set_index(1);
  ASSERT_TRUE(honest->Write(hello));
  ASSERT_TRUE(honest->Read(&message));

  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  ASSERT_TRUE(stream->Read(&message));
  v1alpha1::AgentMessage large;
  for (int i = 0; i < 1'500'000; ++i) large.mutable_ready()->add_ranks()->mutable_position();
  stream->Write(large);
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  registry_.VisitAgents("uid", [](const AgentState& state) { EXPECT_FALSE(state.ready); });

  v1alpha1::OperatorMessage order;
  order.mutable_prepare()->set_membership(std::string(1 << 20, 'x'));
  ASSERT_TRUE(registry_.SendOrder({"uid", 1, 1, "pod"}, Encode(order)).ok());
  ASSERT_TRUE(honest->Read(&message)) << "the operator's own messages may be larger";
  EXPECT_EQ(message.prepare().membership().size(), size_t{1} << 20);
}

TEST_F(CoordinatorServerTest, AnAgentThatSaysWhatNoAgentSaysIsToldTheField) {
  Start("unix:" + path_);
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  ASSERT_TRUE(stream->Write(Hello(1)));
  v1alpha1::OperatorMessage message;
  ASSERT_TRUE(stream->Read(&message));
  v1alpha1::AgentMessage absurd;
  absurd.mutable_joined()->set_bad_checkpoint(std::string(50'000, 'A'));
  ASSERT_TRUE(stream->Write(absurd));
  EXPECT_FALSE(stream->Read(&message));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("joined.bad_checkpoint: wants at most 1024"));
}

TEST_F(CoordinatorServerTest, RefusesASocketInUseAndReplacesAStaleOne) {
  Start("unix:" + path_);
  const auto second = CoordinatorServer::Start({"unix:" + path_}, registry_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("another operator answers on"));
  server_.reset();
  // Like the socket file that a killed process leaves behind, this file accepts no connections.
  const int fd = ::open(path_.c_str(), O_CREAT | O_WRONLY, 0600);
  ::close(fd);
  Start("unix:" + path_);
}

TEST_F(CoordinatorServerTest, ALongPathIsNamed) {
  const auto too_long =
      CoordinatorServer::Start({"unix:" + folder_ + "/run/" + std::string(120, 'x')}, registry_);
  EXPECT_EQ(too_long.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(too_long.status().message(), HasSubstr("is longer than 107 bytes"));
}

}  // namespace
}  // namespace muster::control
