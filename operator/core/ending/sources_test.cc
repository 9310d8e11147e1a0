#include "operator/core/ending/sources.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SourcesTest : public ::testing::Test {
 protected:
  SourcesTest() {
    world_.view.spec.mutable_trainer()->mutable_data()->set_uri("/data/a");
    world_.view.spec.mutable_checkpoint()->set_uri("/ck/a");
    world_.MakeActive();
    for (AgentView& agent : world_.view.agents) agent.active = world_.memory.id;
    world_.Decide();
  }
  void SetData(const std::string& uri) {
    world_.view.spec.mutable_trainer()->mutable_data()->set_uri(uri);
  }
  std::string Admitted() const { return world_.Condition(ConditionType::kAdmitted); }
  std::string Message() const {
    return FindCondition(world_.view.status, ConditionType::kAdmitted)->message();
  }

  TestWorld world_;
};

TEST_F(SourcesTest, AChangeOfTheDataOfARunningJobIsRefusedAndItGoesOnByTheOldOnes) {
  SetData("/data/b");
  const Plan plan = world_.Decide();
  EXPECT_EQ(Admitted(), "True/SpecChangeRefused");
  EXPECT_THAT(Message(),
              HasSubstr("spec.trainer.data.uri must not change while the job runs: it was "
                        "\"/data/a\" and is now \"/data/b\""));
  EXPECT_THAT(Message(),
              HasSubstr("put the old value back, or suspend the job, make the change, and resume"));
  EXPECT_EQ(EventReasons(plan), "SpecChangeRefused");
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_EQ(world_.memory.phase, RoundPhase::kActive);
  world_.Advance(absl::Minutes(1));
  EXPECT_EQ(EventReasons(world_.Decide()), "") << "it is said once";
  SetData("/data/a");
  world_.Decide();
  EXPECT_EQ(Admitted(), "True/Accepted");
  EXPECT_EQ(world_.memory.id.round, 1);
}

TEST_F(SourcesTest, AChangeOfTheCheckpointDirectoryIsRefusedToo) {
  world_.view.spec.mutable_checkpoint()->set_uri("/ck/b");
  EXPECT_THAT(world_.Decide().orders, IsEmpty());
  EXPECT_EQ(Admitted(), "True/SpecChangeRefused");
  EXPECT_THAT(Message(), HasSubstr("spec.checkpoint.uri must not change"));
  world_.view.spec.clear_checkpoint();
  EXPECT_THAT(world_.Decide().orders, IsEmpty());
  EXPECT_EQ(Admitted(), "True/SpecChangeRefused");
}

TEST_F(SourcesTest, AnotherStoreOfTheCheckpointsIsRefusedButItsKeysMayChange) {
  v1alpha1::S3Spec& store = *world_.view.spec.mutable_checkpoint()->mutable_s3();
  store.set_credentials_secret("new-keys");
  store.set_region("us-east-1");
  world_.Decide();
  EXPECT_EQ(Admitted(), "True/Accepted") << "it is the store that is meant without s3";
  store.set_endpoint("https://elsewhere");
  EXPECT_THAT(world_.Decide().orders, IsEmpty());
  EXPECT_EQ(Admitted(), "True/SpecChangeRefused");
  EXPECT_THAT(Message(), HasSubstr("spec.checkpoint.s3 must not change"));
}

TEST_F(SourcesTest, TheNextRoundHasTheOldOnesAndTheRestOfTheChange) {
  SetData("/data/b");
  world_.view.spec.mutable_trainer()->mutable_train()->set_steps(200);
  const Plan plan = world_.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  EXPECT_EQ(world_.memory.id.round, 2);
  ASSERT_NE(world_.memory.spec, nullptr);
  EXPECT_EQ(world_.memory.spec->trainer().data().uri(), "/data/a");
  EXPECT_EQ(world_.memory.spec->trainer().train().steps(), 200);
  EXPECT_EQ(Admitted(), "True/SpecChangeRefused");
}

TEST_F(SourcesTest, AJobThatIsSuspendedChangedAndResumedHasTheNewOnes) {
  world_.view.spec.set_suspend(true);
  world_.Decide();
  SetData("/data/b");
  world_.Decide();
  EXPECT_EQ(Admitted(), "True/Accepted");
  world_.view.pods.clear();
  world_.view.agents.clear();
  world_.Decide();
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "True/WorkersStopped");
  world_.view.spec.set_suspend(false);
  world_.Decide();
  EXPECT_EQ(Admitted(), "True/Accepted");
}

TEST_F(SourcesTest, ANewLeaderLeavesARoundByOtherSourcesAlone) {
  SetData("/data/b");
  world_.memory = RoundMemory{};
  world_.view.leader_term = 2;
  const Plan plan = world_.Decide();
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_THAT(plan.deletes, IsEmpty());
  EXPECT_EQ(Admitted(), "False/InvalidSpec");
  EXPECT_THAT(Message(), HasSubstr("spec.trainer.data or spec.checkpoint.uri has changed"));
  SetData("/data/a");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(EventReasons(world_.Decide()), HasSubstr("RoundAdopted"));
  EXPECT_EQ(Admitted(), "True/Accepted");
}

}  // namespace
}  // namespace muster::control
