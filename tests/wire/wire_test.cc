// Replays what agents and operators said in each protocol against the programs of this tree, so
// that jobs train on while an operator is upgraded or rolled back under them.
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/worker/scripted_coordinator.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/protocol.h"
#include "tests/integration/operator_world.h"
#include "tests/wire/recording_relay.h"
#include "tests/wire/transcript.h"

namespace muster::wire {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;

// Fields that programs learned after the first release candidate of their protocol: a peer may not
// have them yet.
const std::set<std::string>& NewestFields() {
  static const auto* const kFields = new std::set<std::string>{
      "agent.hello.protocols",     "agent.ready.ranks.reads_replicas",
      "operator.prepare.secret",   "operator.welcome.prepare_deadline_seconds",
      "operator.welcome.protocol",
  };
  return *kFields;
}

std::string PathOf(int protocol) {
  return absl::StrCat("tests/wire/transcripts/protocol_", protocol, ".txt");
}

class WireTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    char folder[] = "/tmp/muster-wire-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override {
    if (agent_ != nullptr) agent_->Signal(SIGKILL).IgnoreError();
    EXPECT_TRUE(ProcessLauncher::Real().EndMarked(Mark(), absl::Seconds(60)).ok());
    if (!HasFailure()) RemoveAll(FileSystem(), folder_).IgnoreError();
  }
  std::string Mark() const { return "MUSTER_TEST_FOLDER=" + folder_; }
  std::string Socket() const { return absl::StrCat("unix:", folder_, "/s"); }

  static Transcript Read(int protocol) {
    const auto text = ReadFile(FileSystem(), PathOf(protocol));
    EXPECT_TRUE(text.ok()) << text.status();
    auto transcript = Transcript::Parse(text.value_or(""));
    EXPECT_TRUE(transcript.ok()) << transcript.status();
    return transcript.value_or(Transcript());
  }

  void StartAgent(const v1alpha1::WorkerId& worker, int ranks) {
    ProcessSpec spec;
    spec.argv = {"agent/muster-agent",
                 "worker",
                 absl::StrCat("--coordinator=", Socket()),
                 "--trainer=trainer/muster-trainer",
                 absl::StrCat("--job=", worker.job()),
                 absl::StrCat("--job-uid=", worker.job_uid()),
                 absl::StrCat("--namespace=", worker.namespace_()),
                 absl::StrCat("--pod-uid=", worker.pod_uid()),
                 absl::StrCat("--index=", worker.index()),
                 absl::StrCat("--incarnation=", worker.incarnation()),
                 absl::StrCat("--ranks=", ranks),
                 absl::StrCat("--log-dir=", folder_, "/logs")};
    spec.env = {"PATH=/usr/bin:/bin", Mark(), "HOME=" + folder_, "MUSTER_LOG_LEVEL=INFO"};
    spec.mark = Mark();
    spec.group = ProcessSpec::Group::kSession;
    auto agent = ProcessLauncher::Real().Launch(spec);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }

  // Starts a real operator with one job of one worker. Pods that it binds count as running; their
  // agents are the test's.
  void StartOperator() {
    world_.start_agent = [this](const control::PodWorker& pod) { pod_ = pod; };
    world_.AddNode("node-1", 8);
    world_.StartOperator();
    world_.CreateJob(absl::StrCat(R"({
      "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"namespace": "default", "name": "gpt"},
      "spec": {
        "workers": {"count": 1, "ranks": 2},
        "trainer": {"model": {"preset": "gpt2-nano", "layers": 1},
                    "data": {"uri": "docs/install.md", "tokenizer": {"kind": "Byte"}},
                    "train": {"steps": 4, "globalBatch": 4, "microBatch": 1, "sequence": 16}},
        "checkpoint": {"uri": ")",
                                  folder_, R"(/checkpoints"}}})"));
    ASSERT_TRUE(world_.Until([this] { return pod_.has_value(); }))
        << world_.Job().status.DebugString();
  }
  bool JobSucceeds() {
    return world_.Until([this] { return world_.Job().status.state() == "Succeeded"; });
  }

  // Names today's job, pod and trajectory, which the operator chose, in what the recorded agent
  // says.
  void NameTodaysJob(AgentMessage& message, const std::string& trajectory) const {
    if (message.has_hello()) *message.mutable_hello()->mutable_worker() = pod_->id;
    if (message.has_joined()) message.mutable_joined()->set_trajectory(trajectory);
  }
  // Names today's folder and endpoint in an order of the recorded operator.
  void NameTodaysPlaces(OperatorMessage& message, const std::string& endpoint) const {
    const std::string checkpoints = folder_ + "/checkpoints";
    if (message.has_welcome()) {
      message.mutable_welcome()->mutable_spec()->mutable_checkpoint()->set_uri(checkpoints);
    }
    if (message.has_prepare()) {
      message.mutable_prepare()->mutable_spec()->mutable_checkpoint()->set_uri(checkpoints);
    }
    if (message.has_go()) message.mutable_go()->set_endpoint(endpoint);
  }

  std::string PlayAgent(const Transcript& transcript) {
    StartOperator();
    if (HasFatalFailure()) return "the operator did not start";
    const auto stub = v1alpha1::Coordinator::NewStub(
        grpc::CreateChannel(world_.socket, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub->Attach(&context);
    std::string trajectory;
    const std::string missing = Play(
        transcript, Speaker::kAgent,
        [&](const std::string& bytes) {
          AgentMessage message;
          if (!message.ParseFromString(bytes)) return false;
          NameTodaysJob(message, trajectory);
          return stream->Write(message);
        },
        [&]() -> std::optional<std::string> {
          OperatorMessage message;
          if (!stream->Read(&message)) return std::nullopt;
          if (message.has_prepare()) trajectory = message.prepare().trajectory();
          return message.SerializeAsString();
        });
    context.TryCancel();
    return missing.empty() && !JobSucceeds() ? world_.Job().status.DebugString() : missing;
  }

  std::string PlayOperator(const Transcript& transcript) {
    agent::ScriptedCoordinator coordinator(Socket());
    AgentMessage hello;
    EXPECT_TRUE(hello.ParseFromString(transcript.utterances[0].bytes));
    StartAgent(hello.hello().worker(), hello.hello().ranks());
    std::string endpoint;
    const std::string missing = Play(
        transcript, Speaker::kOperator,
        [&](const std::string& bytes) {
          OperatorMessage message;
          if (!message.ParseFromString(bytes)) return false;
          NameTodaysPlaces(message, endpoint);
          return coordinator.Say(message);
        },
        [&]() -> std::optional<std::string> {
          // Heartbeats would keep an agent that waits in vain alive for ever.
          const auto message =
              coordinator.WaitFor([](const AgentMessage& m) { return !m.has_heartbeat(); });
          if (!message.has_value()) return std::nullopt;
          if (message->has_ready()) endpoint = message->ready().ranks(0).endpoint();
          return message->SerializeAsString();
        });
    if (!missing.empty()) return missing;
    return AgentEndsWell() ? "" : "the agent did not end with 0";
  }
  bool AgentEndsWell() {
    pollfd ended = {agent_->poll_fd(), POLLIN, 0};
    poll(&ended, 1, kPatienceMillis);
    const auto exit = agent_->Poll();
    return exit.ok() && exit->has_value() && (*exit)->code == 0;
  }

  std::string folder_;
  std::optional<control::PodWorker> pod_;
  control::OperatorWorld world_;
  std::unique_ptr<Process> agent_;
};

TEST_F(WireTest, TheNewestTranscriptHasEveryFieldThatProgramsUseToday) {
  StartOperator();
  RecordingRelay relay(Socket(), world_.socket);
  ASSERT_TRUE(relay.ok());
  StartAgent(pod_->id, pod_->ranks);
  ASSERT_TRUE(JobSucceeds()) << world_.Job().status.DebugString();
  const Transcript today = relay.transcript();
  const std::string outputs = absl::StrCat(getenv("TEST_UNDECLARED_OUTPUTS_DIR"), "/transcript");
  const Transcript newest = Read(v1alpha1::kNewestProtocol);
  ASSERT_TRUE(
      WriteFileAtomically(FileSystem(), outputs, WithTimedFieldsOf(newest, today).ToText()).ok());
  const std::set<std::string> known = FieldsOf(newest);
  std::vector<std::string> unknown;
  for (const std::string& field : FieldsOf(today)) {
    if (known.count(field) == 0) unknown.push_back(field);
  }
  EXPECT_THAT(unknown, testing::IsEmpty())
      << "these fields are new: copy " << outputs << " to " << PathOf(v1alpha1::kNewestProtocol);
}

class ProtocolTest : public WireTest, public testing::WithParamInterface<int> {};

TEST_P(ProtocolTest, TodaysOperatorServesARecordedAgent) {
  EXPECT_EQ(PlayAgent(Read(GetParam())), "");
}
TEST_P(ProtocolTest, TodaysOperatorServesARecordedAgentWithoutTheNewestFields) {
  EXPECT_EQ(PlayAgent(WithoutFields(Read(GetParam()), NewestFields())), "");
}
TEST_P(ProtocolTest, TodaysAgentObeysARecordedOperator) {
  EXPECT_EQ(PlayOperator(Read(GetParam())), "");
}
TEST_P(ProtocolTest, TodaysAgentObeysARecordedOperatorWithoutTheNewestFields) {
  EXPECT_EQ(PlayOperator(WithoutFields(Read(GetParam()), NewestFields())), "");
}
INSTANTIATE_TEST_SUITE_P(All, ProtocolTest,
                         testing::Range(v1alpha1::kOldestProtocol, v1alpha1::kNewestProtocol + 1));

}  // namespace
}  // namespace muster::wire
