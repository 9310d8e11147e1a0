// Runs the real agent and the real trainer with two ranks, against a coordinator that the test
// plays. Their messages suffice to train, to lose a rank, and to continue from the survivor's
// memory.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/worker/scripted_coordinator.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using agent::ScriptedCoordinator;
using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;
using v1alpha1::ResumePoint;
using v1alpha1::WorkerReady;

class AgentTrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    char folder[] = "/tmp/muster-pair-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    std::string text;
    for (int i = 0; i < 4000; ++i) absl::StrAppend(&text, "line ", i * i % 97, " of the text\n");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder_ + "/text", text).ok());
    coordinator_ = std::make_unique<ScriptedCoordinator>("unix:" + folder_ + "/s");
    ASSERT_TRUE(coordinator_->ok());
    StartAgent();
  }
  void TearDown() override {
    if (agent_ != nullptr) agent_->Signal(SIGKILL).IgnoreError();
    EXPECT_TRUE(ProcessLauncher::Real().EndMarked(Mark(), absl::Seconds(60)).ok());
    if (!HasFailure()) RemoveAll(FileSystem(), folder_).IgnoreError();
  }

  std::string Mark() const { return "MUSTER_TEST_FOLDER=" + folder_; }

  void StartAgent() {
    ProcessSpec spec;
    spec.argv = {"agent/muster-agent",
                 "worker",
                 absl::StrCat("--coordinator=unix:", folder_, "/s"),
                 "--trainer=trainer/muster-trainer",
                 "--job=pair",
                 "--job-uid=u",
                 "--incarnation=1",
                 "--ranks=2",
                 absl::StrCat("--log-dir=", folder_, "/logs")};
    spec.env = {"PATH=/usr/bin:/bin", Mark(), "HOME=" + folder_, "MUSTER_LOG_LEVEL=INFO"};
    spec.mark = Mark();
    spec.group = ProcessSpec::Group::kSession;
    auto agent = ProcessLauncher::Real().Launch(spec);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }

  v1alpha1::TrainingJobSpec Spec(int64_t steps) {
    v1alpha1::TrainingJobSpec spec;
    auto* trainer = spec.mutable_trainer();
    trainer->mutable_model()->set_preset("gpt2-nano");
    trainer->mutable_model()->set_layers(1);
    trainer->mutable_data()->set_uri(folder_ + "/text");
    trainer->mutable_data()->set_format("Bytes");
    trainer->mutable_train()->set_steps(steps);
    trainer->mutable_train()->set_global_batch(4);
    trainer->mutable_train()->set_micro_batch(1);
    trainer->mutable_train()->set_sequence(16);
    spec.mutable_elastic()->set_rank_deadline("10s");
    spec.mutable_elastic()->set_step_deadline("20s");
    spec.mutable_failure_policy()->set_on_rank_failure("RestartRank");
    spec.mutable_checkpoint()->set_uri(folder_ + "/checkpoints");
    return spec;
  }

  std::optional<AgentMessage> Wait(AgentMessage::KindCase kind) {
    return coordinator_->WaitFor([kind](const auto& m) { return m.kind_case() == kind; });
  }
  std::optional<WorkerReady> Prepare(int64_t round) {
    OperatorMessage message;
    auto* prepare = message.mutable_prepare();
    prepare->mutable_round()->set_term(1);
    prepare->mutable_round()->set_round(round);
    prepare->mutable_member()->mutable_worker()->set_incarnation(1);
    prepare->mutable_member()->set_ranks(2);
    prepare->set_world_size(2);
    prepare->set_group_world_size(1);
    if (!coordinator_->Say(message)) return std::nullopt;
    const auto ready = Wait(AgentMessage::kReady);
    if (!ready.has_value()) return std::nullopt;
    return ready->ready();
  }
  std::optional<v1alpha1::WorkerJoined> Go(const WorkerReady& ready, const ResumePoint& resume) {
    OperatorMessage message;
    auto* go = message.mutable_go();
    *go->mutable_round() = ready.round();
    go->set_endpoint(ready.ranks(0).endpoint());
    *go->mutable_resume() = resume;
    if (!coordinator_->Say(message)) return std::nullopt;
    const auto joined = Wait(AgentMessage::kJoined);
    if (!joined.has_value()) return std::nullopt;
    return joined->joined();
  }
  bool WaitForStep(int64_t step) {
    return coordinator_
        ->WaitFor([step](const auto& m) {
          const auto& steps = m.steps().steps();
          return !steps.empty() && steps[steps.size() - 1].version().step() >= step;
        })
        .has_value();
  }
  // Finds the process of a rank: the child of the agent with that LOCAL_RANK.
  pid_t FindRank(int local_rank) {
    std::ifstream children(
        absl::StrCat("/proc/", agent_->pid(), "/task/", agent_->pid(), "/children"));
    for (pid_t pid; children >> pid;) {
      std::ifstream environment(absl::StrCat("/proc/", pid, "/environ"));
      for (std::string entry; std::getline(environment, entry, '\0');) {
        if (entry == absl::StrCat("LOCAL_RANK=", local_rank)) return pid;
      }
    }
    return 0;
  }
  ResumePoint Fresh() {
    ResumePoint resume;
    resume.set_source(ResumePoint::FRESH);
    resume.set_next_attempt(1);
    return resume;
  }

  std::string folder_;
  std::unique_ptr<ScriptedCoordinator> coordinator_;
  std::unique_ptr<Process> agent_;
};

TEST_F(AgentTrainerTest, TrainsAndFinishes) {
  ASSERT_TRUE(coordinator_->Greet(1, Spec(12)).has_value());
  const auto ready = Prepare(1);
  ASSERT_TRUE(ready.has_value());
  const auto joined = Go(*ready, Fresh());
  ASSERT_TRUE(joined.has_value());
  ASSERT_EQ(joined->error(), "");
  const auto finished = Wait(AgentMessage::kFinished);
  ASSERT_TRUE(finished.has_value());
  EXPECT_TRUE(finished->finished().succeeded()) << finished->finished().message();
  EXPECT_EQ(finished->finished().version().step(), 12);
}

TEST_F(AgentTrainerTest, AKilledRankComesBackWithTheSurvivorsState) {
  ASSERT_TRUE(coordinator_->Greet(1, Spec(1'000'000)).has_value());
  auto ready = Prepare(1);
  ASSERT_TRUE(ready.has_value());
  auto joined = Go(*ready, Fresh());
  ASSERT_TRUE(joined.has_value());
  ASSERT_EQ(joined->error(), "");
  ASSERT_TRUE(WaitForStep(5));
  const pid_t rank = FindRank(1);
  ASSERT_NE(rank, 0);
  ASSERT_EQ(kill(rank, SIGKILL), 0);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->rank_exited().local_rank(), 1);
  ready = Prepare(2);
  ASSERT_TRUE(ready.has_value());
  ASSERT_TRUE(ready->ranks(0).position().has_applied());
  EXPECT_FALSE(ready->ranks(1).position().has_applied());
  ResumePoint live;
  live.set_source(ResumePoint::LIVE);
  *live.mutable_version() = ready->ranks(0).position().applied();
  live.set_donor(0);
  live.add_receivers(1);
  live.set_next_attempt(live.version().attempt() + 1);
  joined = Go(*ready, live);
  ASSERT_TRUE(joined.has_value());
  ASSERT_EQ(joined->error(), "");
  EXPECT_EQ(joined->version().step(), live.version().step());
  EXPECT_TRUE(WaitForStep(live.version().step() + 5));
}

TEST_F(AgentTrainerTest, StopWithSaveWritesACheckpointAndEndsWithZero) {
  ASSERT_TRUE(coordinator_->Greet(1, Spec(1'000'000)).has_value());
  const auto ready = Prepare(1);
  ASSERT_TRUE(ready.has_value());
  ASSERT_TRUE(Go(*ready, Fresh()).has_value());
  ASSERT_TRUE(WaitForStep(3));
  OperatorMessage stop;
  *stop.mutable_stop()->mutable_round() = ready->round();
  stop.mutable_stop()->set_save(true);
  ASSERT_TRUE(coordinator_->Say(stop));
  const auto finished = Wait(AgentMessage::kFinished);
  ASSERT_TRUE(finished.has_value());
  EXPECT_TRUE(finished->finished().succeeded()) << finished->finished().message();
  const std::string checkpoint = absl::StrFormat("%s/checkpoints/step-%09d/DONE", folder_,
                                                 finished->finished().version().step());
  EXPECT_TRUE(Exists(FileSystem(), checkpoint)) << checkpoint;
  pollfd fd = {agent_->poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, kPatienceMillis), 1);
  EXPECT_EQ((*agent_->Poll())->code, 0);
}

TEST_F(AgentTrainerTest, BadInputIsReportedWithItsMessageAndCode) {
  v1alpha1::TrainingJobSpec spec = Spec(10);
  spec.mutable_trainer()->mutable_data()->set_uri(folder_ + "/missing");
  ASSERT_TRUE(coordinator_->Greet(1, spec).has_value());
  OperatorMessage message;
  auto* prepare = message.mutable_prepare();
  prepare->mutable_round()->set_term(1);
  prepare->mutable_round()->set_round(1);
  prepare->mutable_member()->mutable_worker()->set_incarnation(1);
  prepare->mutable_member()->set_ranks(2);
  prepare->set_world_size(2);
  prepare->set_group_world_size(1);
  ASSERT_TRUE(coordinator_->Say(message));
  const auto finished = Wait(AgentMessage::kFinished);
  ASSERT_TRUE(finished.has_value());
  EXPECT_FALSE(finished->finished().succeeded());
  EXPECT_EQ(finished->finished().exit_code(), 2);
  EXPECT_NE(finished->finished().message().find("missing"), std::string::npos);
}

}  // namespace
}  // namespace muster
