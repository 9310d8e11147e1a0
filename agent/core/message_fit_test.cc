#include "agent/core/message_fit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::agent {
namespace {

using v1alpha1::AgentMessage;

size_t LargestOf(const std::vector<AgentMessage>& parts) {
  size_t largest = 0;
  for (const AgentMessage& part : parts) largest = std::max(largest, part.ByteSizeLong());
  return largest;
}

TEST(MessageFitTest, StepsKeptThroughALongOutageGoInSeveralMessagesInOrder) {
  AgentMessage message;
  message.mutable_steps()->mutable_round()->set_round(7);
  for (int i = 1; i <= 2000; ++i) {
    v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
    step.mutable_version()->set_step(i);
    step.set_loss(2.5);
    step.set_gradient_norm(1.5);
    step.set_finished_at_us(int64_t{1'700'000'000} * 1'000'000);
    step.mutable_times()->set_compute(0.125);
    step.mutable_times()->set_communication(0.125);
    step.mutable_device_memory()->set_total(int64_t{80} << 30);
  }
  ASSERT_GT(message.ByteSizeLong(), v1alpha1::kMaxAgentMessage);
  const std::vector<AgentMessage> parts = FitToLimits(message);
  EXPECT_LE(LargestOf(parts), v1alpha1::kMaxAgentMessage);
  int64_t next = 1;
  for (const AgentMessage& part : parts) {
    EXPECT_EQ(part.steps().round().round(), 7);
    for (const auto& step : part.steps().steps()) EXPECT_EQ(step.version().step(), next++);
  }
  EXPECT_EQ(next, 2001);
}

// The worker has the most ranks that are allowed, and every rank lists the most checkpoints.
AgentMessage ReadyOf(int ranks, int histories, const std::string& mismatch) {
  AgentMessage message;
  for (int rank = 0; rank < ranks; ++rank) {
    v1alpha1::RankReady& ready = *message.mutable_ready()->add_ranks();
    ready.set_local_rank(rank);
    ready.set_endpoint("node-with-a-long-name.example.internal:29500");
    v1alpha1::RankPosition& position = *ready.mutable_position();
    for (int i = 0; i < v1alpha1::kMaxCheckpoints; ++i) {
      v1alpha1::CheckpointRef& checkpoint = *position.add_checkpoints();
      checkpoint.set_directory(absl::StrCat("step-00000", 9999 - i, ".0123456789abcdef-12-345"));
      checkpoint.mutable_version()->set_step(9999 - i);
      checkpoint.set_history(absl::StrCat("0123456789abcde", i % histories));
      checkpoint.set_mismatch(mismatch);
    }
    for (int i = 0; i < v1alpha1::kMaxCopies; ++i) {
      for (v1alpha1::StateCopy* copy : {position.add_copies(), position.add_replicas()}) {
        copy->mutable_version()->set_step(9999 - i);
        copy->set_history("0123456789abcdef");
        copy->mutable_slice()->set_shards(64);
        copy->set_bytes(int64_t{1} << 40);
      }
    }
  }
  return message;
}

TEST(MessageFitTest, AWorkerOfAnyNumberOfRanksSaysWhatItHasInOneMessage) {
  for (const int ranks : {1, 8, 16, 64}) {
    for (const int histories : {1, 4, 64}) {
      for (const std::string& mismatch : {std::string(), std::string(4000, 'm')}) {
        const std::vector<AgentMessage> parts = FitToLimits(ReadyOf(ranks, histories, mismatch));
        ASSERT_EQ(parts.size(), 1u);
        EXPECT_LE(LargestOf(parts), v1alpha1::kMaxAgentMessage) << ranks << " " << histories;
        ASSERT_EQ(parts[0].ready().ranks_size(), ranks);
        for (const v1alpha1::RankReady& rank : parts[0].ready().ranks()) {
          const v1alpha1::RankPosition& position = rank.position();
          ASSERT_GT(position.checkpoints_size(), 0);
          EXPECT_EQ(position.checkpoints(0).version().step(), 9999) << "the newest stays";
          EXPECT_EQ(position.checkpoints(0).mismatch().empty(), mismatch.empty());
          EXPECT_EQ(position.copies(0).version().step(), 9999);
          EXPECT_EQ(position.replicas(0).version().step(), 9999);
        }
      }
    }
  }
}

// The operator ends the stream of a worker that lists more, even in a small message.
TEST(MessageFitTest, OfLongListsTheNewestThatAreAllowedStay) {
  AgentMessage message;
  v1alpha1::RankPosition& position = *message.mutable_ready()->add_ranks()->mutable_position();
  for (int i = 0; i < v1alpha1::kMaxCheckpoints + 1; ++i) {
    position.add_checkpoints()->mutable_version()->set_step(9999 - i);
    position.add_copies()->mutable_version()->set_step(9999 - i);
    position.add_replicas()->mutable_version()->set_step(9999 - i);
  }
  const v1alpha1::RankPosition kept = FitToLimits(message)[0].ready().ranks(0).position();
  ASSERT_EQ(kept.checkpoints_size(), v1alpha1::kMaxCheckpoints);
  EXPECT_EQ(kept.checkpoints(0).version().step(), 9999);
  ASSERT_EQ(kept.copies_size(), v1alpha1::kMaxCopies);
  EXPECT_EQ(kept.copies(0).version().step(), 9999);
  EXPECT_EQ(kept.replicas_size(), v1alpha1::kMaxCopies);
}

TEST(MessageFitTest, AMessageThatFitsStaysAsItIs) {
  const AgentMessage message = ReadyOf(4, 2, "");
  EXPECT_EQ(FitToLimits(message)[0].SerializeAsString(), message.SerializeAsString());
}

TEST(MessageFitTest, TextsAreCutBetweenCharactersAndOfALogTheEndStays) {
  AgentMessage message;
  std::string text;
  while (text.size() < 3 * v1alpha1::kMaxText) text += "\u20ac";  // three bytes
  message.mutable_joined()->set_error(text);
  message = FitToLimits(message)[0];
  EXPECT_LE(message.joined().error().size(), v1alpha1::kMaxText);
  EXPECT_GT(message.joined().error().size(), v1alpha1::kMaxText - 3);
  EXPECT_EQ(message.joined().error().size() % 3, 0u);
  message.mutable_rank_exited()->set_log_tail(std::string(100'000, 'x') + "the end");
  message = FitToLimits(message)[0];
  EXPECT_EQ(message.rank_exited().log_tail().size(), v1alpha1::kMaxLogTail);
  EXPECT_TRUE(message.rank_exited().log_tail().ends_with("the end"));
}

TEST(MessageFitTest, LinksBeyondAnyTournamentAreLeftOut) {
  AgentMessage message;
  for (int i = 0; i < 100'000; ++i) message.mutable_joined()->add_links()->set_peer(i);
  EXPECT_LE(LargestOf(FitToLimits(message)), v1alpha1::kMaxAgentMessage);
}

}  // namespace
}  // namespace muster::agent
