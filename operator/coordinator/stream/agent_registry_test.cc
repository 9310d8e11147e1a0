#include "operator/coordinator/stream/agent_registry.h"

#include <memory>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

struct FakeStream final : AgentStream {
  absl::Status Send(EncodedMessage message) override {
    EXPECT_TRUE(sent.emplace_back().ParseFromString(*message));
    return absl::OkStatus();
  }
  void Close(const absl::Status& reason) override { closed = reason; }

  std::vector<v1alpha1::OperatorMessage> sent;
  std::optional<absl::Status> closed;
};

class AgentRegistryTest : public testing::Test {
 protected:
  AgentRegistryTest() {
    registry_.SetLeader();
    JobRegistration job;
    job.key = "default/gpt";
    job.uid = "uid";
    job.term = 3;
    v1alpha1::TrainingJobSpec spec;
    spec.mutable_workers()->set_count(2);
    job.spec = std::make_shared<const v1alpha1::TrainingJobSpec>(spec);
    job.incarnations = {1, 2};
    registry_.Register(job);
  }

  static v1alpha1::AgentHello Hello(int index, int incarnation) {
    v1alpha1::AgentHello hello;
    hello.mutable_worker()->set_namespace_("default");
    hello.mutable_worker()->set_job("gpt");
    hello.mutable_worker()->set_job_uid("uid");
    hello.mutable_worker()->set_index(index);
    hello.mutable_worker()->set_incarnation(incarnation);
    hello.mutable_worker()->set_pod_uid("pod");
    return hello;
  }
  static v1alpha1::AgentMessage Exit(int64_t round) {
    v1alpha1::AgentMessage message;
    message.mutable_rank_exited()->mutable_round()->set_round(round);
    message.mutable_rank_exited()->set_exit_code(1);
    return message;
  }

  ManualClock clock_;
  ProgressBoard board_;
  std::vector<std::string> changes_;
  AgentRegistry registry_{clock_, &board_, [this](const std::string& k) { changes_.push_back(k); }};
  std::shared_ptr<FakeStream> stream_ = std::make_shared<FakeStream>();
};

TEST_F(AgentRegistryTest, WelcomesWithTermAndSpecBeforeAnyOrder) {
  ASSERT_TRUE(registry_.Attach(Hello(0, 1), stream_).ok());
  ASSERT_EQ(stream_->sent.size(), 1u);
  EXPECT_EQ(stream_->sent[0].welcome().term(), 3);
  EXPECT_EQ(stream_->sent[0].welcome().spec().workers().count(), 2);
  EXPECT_EQ(changes_, std::vector<std::string>{"default/gpt"});
  ASSERT_EQ(registry_.Agents("uid").size(), 1u);
  EXPECT_TRUE(registry_.Agents("uid")[0].attached);
}

TEST_F(AgentRegistryTest, ALaterAgentIsToldTheNewTermAndSpec) {
  JobRegistration job;
  job.key = "default/gpt";
  job.uid = "uid";
  for (const int64_t term : {4, 5, 5}) {
    job.term = term;
    registry_.Register(job);
    ASSERT_TRUE(registry_.Attach(Hello(0, 1), stream_).ok());
    EXPECT_EQ(stream_->sent.back().welcome().term(), term);
    EXPECT_EQ(stream_->sent.back().welcome().spec().workers().count(), 0) << "another spec";
  }
}

TEST_F(AgentRegistryTest, AnAgentIsToldHowLongTheOperatorWaitsForAPreparedRound) {
  JobRegistration job;
  job.key = "default/gpt";
  job.uid = "uid";
  job.prepare_deadline = absl::Minutes(3);
  registry_.Register(job);
  ASSERT_TRUE(registry_.Attach(Hello(0, 1), stream_).ok());
  EXPECT_EQ(stream_->sent.back().welcome().prepare_deadline_seconds(), 180);
}

TEST_F(AgentRegistryTest, AnAgentOfAnyProtocolThatTheOperatorSpeaksIsWelcome) {
  v1alpha1::AgentHello hello = Hello(0, 1);
  ASSERT_FALSE(hello.has_protocols()) << "an agent of before the field";
  ASSERT_TRUE(registry_.Attach(hello, stream_).ok());
  EXPECT_EQ(stream_->sent.back().welcome().protocol(), v1alpha1::kFirstProtocol);
  hello.mutable_protocols()->set_oldest(v1alpha1::kOldestProtocol);
  hello.mutable_protocols()->set_newest(v1alpha1::kNewestProtocol + 5);
  ASSERT_TRUE(registry_.Attach(hello, stream_).ok());
  EXPECT_EQ(stream_->sent.back().welcome().protocol(), v1alpha1::kNewestProtocol);
}

TEST_F(AgentRegistryTest, AnAgentThatSpeaksNoProtocolOfTheOperatorIsRefusedWithBothNamed) {
  v1alpha1::AgentHello hello = Hello(0, 1);
  hello.mutable_protocols()->set_oldest(v1alpha1::kNewestProtocol + 1);
  hello.mutable_protocols()->set_newest(v1alpha1::kNewestProtocol + 2);
  const absl::Status refused = registry_.Attach(hello, stream_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr(ToText(hello.protocols())),
                                                    HasSubstr(ToText(v1alpha1::OwnProtocols()))));
  EXPECT_TRUE(registry_.Agents("uid").empty());
  for (const int oldest : {2, -7}) {  // ranges that no program means
    hello.mutable_protocols()->set_oldest(oldest);
    hello.mutable_protocols()->set_newest(-8);
    EXPECT_FALSE(registry_.Attach(hello, stream_).ok());
  }
}

TEST_F(AgentRegistryTest, AStandbyNamesTheLeader) {
  registry_.SetStandby("leader:9000");
  EXPECT_EQ(*registry_.Attach(Hello(0, 1), stream_), 0u);
  EXPECT_EQ(stream_->sent[0].not_leader().address(), "leader:9000");
  EXPECT_TRUE(registry_.Agents("uid").empty());
}

TEST_F(AgentRegistryTest, RefusesWithTheReason) {
  v1alpha1::AgentHello unknown = Hello(0, 1);
  unknown.mutable_worker()->set_job_uid("other");
  EXPECT_EQ(registry_.Attach(unknown, stream_).status().code(), absl::StatusCode::kUnavailable);
  const absl::Status old = registry_.Attach(Hello(1, 1), stream_).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(old.message(),
              HasSubstr("default/gpt worker 1 incarnation 1 was replaced by incarnation 2"));
  EXPECT_EQ(registry_.Attach(Hello(-1, 1), stream_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(registry_.attached(), 0);
}

TEST_F(AgentRegistryTest, ANewerIncarnationSupersedesAndForgets) {
  const auto first = registry_.Attach(Hello(0, 1), stream_);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(registry_.Receive(*first, Exit(1)).ok());
  auto second = std::make_shared<FakeStream>();
  ASSERT_TRUE(registry_.Attach(Hello(0, 2), second).ok());
  ASSERT_TRUE(stream_->closed.has_value());
  EXPECT_EQ(stream_->closed->code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(registry_.Agents("uid")[0].exits.empty());
  // The old agent's reports, and its end, change nothing.
  EXPECT_TRUE(registry_.Receive(*first, Exit(2)).ok());
  registry_.Detach(*first);
  EXPECT_TRUE(registry_.Agents("uid")[0].exits.empty());
  EXPECT_TRUE(registry_.Agents("uid")[0].attached);
  EXPECT_EQ(registry_.Attach(Hello(0, 1), stream_).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(AgentRegistryTest, OrdersGoToThatPodOnly) {
  ASSERT_TRUE(registry_.Attach(Hello(0, 1), stream_).ok());
  v1alpha1::OperatorMessage order;
  order.mutable_stop();
  EXPECT_TRUE(registry_.SendOrder({"uid", 0, 1, "pod"}, Encode(order)).ok());
  EXPECT_TRUE(stream_->sent.back().has_stop());
  EXPECT_TRUE(absl::IsUnavailable(registry_.SendOrder({"uid", 0, 2, "pod"}, Encode(order))));
  EXPECT_TRUE(absl::IsUnavailable(registry_.SendOrder({"uid", 0, 1, "other"}, Encode(order))));
  EXPECT_TRUE(absl::IsUnavailable(registry_.SendOrder({"uid", 1, 1, "pod"}, Encode(order))));
}

TEST_F(AgentRegistryTest, ReportsOutliveTheStreamOfOneIncarnation) {
  const auto first = registry_.Attach(Hello(0, 1), stream_);
  EXPECT_TRUE(registry_.Receive(*first, Exit(4)).ok());
  EXPECT_TRUE(registry_.Receive(*first, Exit(4)).ok());  // sent again
  clock_.Advance(absl::Seconds(1));
  registry_.Detach(*first);
  AgentState state = registry_.Agents("uid")[0];
  EXPECT_FALSE(state.attached);
  EXPECT_EQ(state.detached_at, clock_.Monotonic());
  EXPECT_EQ(state.exits.size(), 1u);
  const auto again = registry_.Attach(Hello(0, 1), std::make_shared<FakeStream>());
  EXPECT_GT(registry_.Agents("uid")[0].session, state.session);
  EXPECT_EQ(registry_.Agents("uid")[0].exits.size(), 1u);
  registry_.DropFailuresBefore("uid", 4);
  EXPECT_EQ(registry_.Agents("uid")[0].exits.size(), 1u);
  registry_.DropFailuresBefore("uid", 5);
  EXPECT_TRUE(registry_.Agents("uid")[0].exits.empty());
}

TEST_F(AgentRegistryTest, StepsAndHeartbeatsDoNotWakeTheController) {
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  changes_.clear();
  v1alpha1::AgentMessage message;
  message.mutable_heartbeat();
  EXPECT_TRUE(registry_.Receive(*id, message).ok());
  auto& step = *message.mutable_steps()->add_steps();
  step.mutable_version()->set_step(1);
  EXPECT_TRUE(registry_.Receive(*id, message).ok());
  EXPECT_TRUE(changes_.empty());
  EXPECT_EQ(board_.Snapshot("uid").steps_seen, 1);
  EXPECT_TRUE(registry_.Receive(*id, Exit(1)).ok());
  EXPECT_EQ(changes_.size(), 1u);
}

// The status has its step soon, in case that all workers are lost.
TEST_F(AgentRegistryTest, ATuningThatComesIntoForceWakesTheControllerOnce) {
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  changes_.clear();
  for (int64_t number = 1; number <= 3; ++number) {
    v1alpha1::AgentMessage message;
    auto& step = *message.mutable_steps()->add_steps();
    step.mutable_version()->set_step(number);
    if (number > 1) {
      step.set_tunings(1);
      step.mutable_tuning()->set_step(2);
      step.mutable_tuning()->set_learning_rate(1e-4);
    }
    EXPECT_TRUE(registry_.Receive(*id, message).ok());
    EXPECT_EQ(changes_.size(), number < 2 ? 0u : 1u) << number;
  }
}

TEST_F(AgentRegistryTest, StepsOfAJobWithAlertRulesAreLookedAtEverySecondAndBeforeAnyIsForgotten) {
  JobRegistration job;
  job.key = "default/gpt";
  job.uid = "uid";
  v1alpha1::TrainingJobSpec spec;
  spec.add_alerts()->mutable_loss_spike();
  job.spec = std::make_shared<const v1alpha1::TrainingJobSpec>(spec);
  registry_.Register(job);
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  v1alpha1::AgentMessage message;
  for (int i = 0; i < 100; ++i) message.mutable_steps()->add_steps()->mutable_version();
  const auto wakes = [&] {
    changes_.clear();
    EXPECT_TRUE(registry_.Receive(*id, message).ok());
    return changes_.size() == 1;
  };
  EXPECT_TRUE(wakes());
  EXPECT_FALSE(wakes());
  clock_.Advance(AgentRegistry::kBetweenLooks);
  EXPECT_TRUE(wakes());
  int batches = 1;
  while (!wakes()) ++batches;
  EXPECT_LE(batches * 100, AgentRegistry::kStepsBetweenLooks + 100);
}

TEST_F(AgentRegistryTest, TheControllerIsWokenWhenTheRanksOfAWorkerHaveLoaded) {
  v1alpha1::AgentHello hello = Hello(0, 1);
  hello.set_loading(true);
  const auto id = registry_.Attach(hello, stream_);
  EXPECT_TRUE(registry_.Agents("uid")[0].loading);
  changes_.clear();
  v1alpha1::AgentMessage message;
  message.mutable_heartbeat()->set_loading(true);
  EXPECT_TRUE(registry_.Receive(*id, message).ok());
  EXPECT_TRUE(changes_.empty());
  message.mutable_heartbeat()->set_loading(false);
  EXPECT_TRUE(registry_.Receive(*id, message).ok());
  EXPECT_FALSE(registry_.Agents("uid")[0].loading);
  EXPECT_EQ(changes_.size(), 1u);
}

TEST_F(AgentRegistryTest, AFloodOfMessagesEndsItsOwnStreamAndNoNewOneHelpsIt) {
  auto id = registry_.Attach(Hello(0, 1), stream_);
  const auto other = registry_.Attach(Hello(1, 2), std::make_shared<FakeStream>());
  v1alpha1::AgentMessage beat;
  beat.mutable_heartbeat();
  absl::Status taken;
  int messages = 0;
  for (; taken.ok() && messages < 100'000; ++messages) taken = registry_.Receive(*id, beat);
  EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(messages, 2000);
  registry_.Detach(*id);
  changes_.clear();
  id = registry_.Attach(Hello(0, 1), std::make_shared<FakeStream>());
  EXPECT_EQ(id.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(changes_.empty());
  EXPECT_TRUE(registry_.Receive(*other, beat).ok());
  clock_.Advance(absl::Seconds(1));
  id = registry_.Attach(Hello(0, 1), std::make_shared<FakeStream>());
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_TRUE(registry_.Receive(*id, beat).ok());
}

TEST_F(AgentRegistryTest, AFloodOfBytesEndsItsStream) {
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  v1alpha1::AgentMessage message;
  message.mutable_stalled()->set_error(std::string(60'000, 'x'));
  absl::Status taken;
  int messages = 0;
  for (; taken.ok() && messages < 1000; ++messages) taken = registry_.Receive(*id, message);
  EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(messages, 100);
}

TEST_F(AgentRegistryTest, WhatIsKeptOfAWorkersFailuresIsBounded) {
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  for (int i = 1; i <= 200; ++i) {
    clock_.Advance(absl::Seconds(1));
    v1alpha1::AgentMessage message = Exit(i);
    message.mutable_rank_exited()->set_log_tail(std::string(50'000, 'x'));
    ASSERT_TRUE(registry_.Receive(*id, message).ok());
    message.mutable_stalled()->mutable_round()->set_round(i);
    message.mutable_stalled()->set_error(std::string(50'000, 'x'));
    ASSERT_TRUE(registry_.Receive(*id, message).ok());
  }
  const AgentState state = registry_.Agents("uid")[0];
  EXPECT_EQ(state.exits.size(), AgentState::kMaxFailures);
  EXPECT_EQ(state.exits.back().round().round(), 200);
  size_t bytes = 0;
  for (const auto& exit : state.exits) bytes += exit.ByteSizeLong();
  for (const auto& stall : state.stalls) bytes += stall.ByteSizeLong();
  EXPECT_LT(bytes, size_t{512} << 10);
}

TEST_F(AgentRegistryTest, NothingOfAMessageCountsThatNamesWhatTheJobCannotHave) {
  const auto id = registry_.Attach(Hello(0, 1), stream_);
  v1alpha1::AgentMessage message;
  for (int i = 0; i < 2; ++i) message.mutable_ready()->add_ranks()->mutable_position();
  const absl::Status taken = registry_.Receive(*id, message);
  EXPECT_EQ(taken.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(taken.message(), HasSubstr("ready.ranks: wants at most 1, and not 2"));
  EXPECT_FALSE(registry_.Agents("uid")[0].ready.has_value());
}

TEST_F(AgentRegistryTest, AJobThatIsGoneClosesItsStreams) {
  ASSERT_TRUE(registry_.Attach(Hello(0, 1), stream_).ok());
  registry_.Unregister("uid");
  EXPECT_EQ(stream_->closed->code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(registry_.attached(), 0);
}

}  // namespace
}  // namespace muster::control
