#include "operator/core/round/round_phase.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

constexpr char kHistory[] = "00000000000000aa";

v1alpha1::RankReady ReadyWithCopy() {
  v1alpha1::RankReady ready;
  auto* copy = ready.mutable_position()->add_copies();
  copy->mutable_version()->set_step(48);
  copy->mutable_version()->set_attempt(3);
  copy->set_history(kHistory);
  return ready;
}

// The job has a checkpoint of step 40, of attempt 3.
void SaveStep40(TestWorld& world) {
  world.view.spec.mutable_checkpoint()->set_uri("/checkpoints");
  v1alpha1::CheckpointStatus& checkpoint = *world.view.status.mutable_checkpoint();
  checkpoint.set_step(40);
  checkpoint.set_history(kHistory);
  checkpoint.set_attempt(3);
}

void Open(TestWorld& world, const v1alpha1::RankReady& ready) {
  world.Decide();
  for (AgentView& agent : world.view.agents) agent.ready = ReadyReport{world.memory.id, {ready}};
  world.Decide();
}

TEST(NoteResumedTest, TheRecordSaysWhereTheStateWasFoundAndWhatItTook) {
  TestWorld world(2);
  SaveStep40(world);
  world.AddWorkers();
  Open(world, ReadyWithCopy());
  double seconds = 0.5;
  for (AgentView& agent : world.view.agents) {
    agent.joined = Joined(world.memory);
    agent.joined->restored_bytes = 1000;
    agent.joined->restore_seconds = std::exchange(seconds, 0.25);
  }
  world.Decide();
  const v1alpha1::ResumeStatus& resume = world.view.status.resume();
  EXPECT_EQ(resume.round(), world.memory.id.round);
  EXPECT_EQ(resume.source(), "Memory");
  EXPECT_EQ(resume.step(), 48);
  EXPECT_EQ(resume.bytes(), 2000);
  EXPECT_EQ(resume.seconds(), 0.5);
  EXPECT_FALSE(resume.time().empty());
  EXPECT_THAT(resume.message(), HasSubstr("loading the copies of step 48 (attempt 3) in memory"));
  // The job falls behind neither its checkpoint nor the branch that copies are of.
  EXPECT_EQ(world.view.status.checkpoint().step(), 40);
  EXPECT_EQ(world.view.status.checkpoint().attempt(), 3);
}

TEST(NoteResumedTest, AFirstRoundBeginsAtInitialWeights) {
  TestWorld world(2);
  world.AddWorkers();
  Open(world, v1alpha1::RankReady());
  for (AgentView& agent : world.view.agents) agent.joined = Joined(world.memory);
  world.Decide();
  EXPECT_EQ(world.view.status.resume().source(), "Initial");
  EXPECT_EQ(world.view.status.resume().bytes(), 0);
}

// An owner who has a job restarted wants neither live state nor copies.
TEST(NoteResumedTest, ARestartedJobLoadsItsCheckpointAndNoCopies) {
  TestWorld world(2);
  SaveStep40(world);
  world.AddWorkers();
  world.memory.failure.restart_job = true;
  v1alpha1::RankReady ready = ReadyWithCopy();
  auto* saved = ready.mutable_position()->add_checkpoints();
  saved->set_directory("step-000000040");
  saved->mutable_version()->set_step(40);
  saved->mutable_version()->set_attempt(3);
  saved->set_history(kHistory);
  Open(world, ready);
  for (AgentView& agent : world.view.agents) agent.joined = Joined(world.memory);
  world.Decide();
  EXPECT_EQ(world.view.status.resume().source(), "Checkpoint");
  EXPECT_EQ(world.view.status.resume().step(), 40);
}

}  // namespace
}  // namespace muster::control
