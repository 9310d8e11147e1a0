// Tests a server that drops fields of the status because its CustomResourceDefinition is older than
// the operator: nothing that depends on them is done, and the reason is reported.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/api_error.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class OlderCrdTest : public testing::TestWithParam<std::string> {
 protected:
  OlderCrdTest() { world_.AddNode("node-1", 8); }

  v1alpha1::Condition Admitted() const {
    const v1alpha1::TrainingJobStatus status = world_.Job("gpt").status;
    const auto* condition = FindCondition(status, ConditionType::kAdmitted);
    return condition == nullptr ? v1alpha1::Condition() : *condition;
  }
  bool IsReported() const { return Admitted().reason() == "StatusNotStored"; }
  bool HasEvent() const {
    const auto events = world_.Events();
    return std::any_of(events.begin(), events.end(), [](const Json& event) {
      return kube::StringAt(event, {"reason"}) == "StatusNotStored";
    });
  }
  bool RunToTheEnd() {
    return world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(5));
  }

  ReplicaWorld world_{{.seed = 3, .election = false}};
};

INSTANTIATE_TEST_SUITE_P(Fields, OlderCrdTest,
                         testing::Values("term", "round", "membership", "incarnations",
                                         "checkpoint"));

TEST_P(OlderCrdTest, NothingDependsOnAFieldThatIsNotStored) {
  world_.faulty->DropStatusFields({GetParam()});
  const TrainingJob job = world_.CreateJob("gpt");
  ASSERT_TRUE(world_.RunUntil([&] { return IsReported(); }, absl::Seconds(30)));
  EXPECT_EQ(Admitted().status(), "False");
  EXPECT_THAT(Admitted().message(), HasSubstr("the API server did not store status." + GetParam()));
  EXPECT_TRUE(HasEvent());
  world_.ForgetWrites();
  world_.RunFor(absl::Minutes(5));
  EXPECT_EQ(world_.fleet->Training(job.uid), 0) << "an order was given";
  EXPECT_EQ(world_.fleet->steps_done(), 0);
  EXPECT_EQ(world_.Pods().empty(), GetParam() == "incarnations" || GetParam() == "term");
  // Each attempt, one every 20 s, makes two writes: the status that is not stored, and the
  // condition that says so. With "checkpoint" a third one comes first: the history is written only
  // when a round, whose number is already written, is about to go.
  const int writes_a_try = GetParam() == "checkpoint" ? 3 : 2;
  EXPECT_LE(world_.Writes("update_status trainingjobs"), writes_a_try * 16);

  world_.faulty->DropStatusFields({});
  ASSERT_TRUE(RunToTheEnd());
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

// Replaces the definition by an older one while a job trains.
TEST_P(OlderCrdTest, AJobThatTrainsGoesOn) {
  world_.CreateJob("gpt", {{"trainer", {{"train", {{"steps", 3000}}}}}});
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Job("gpt").status.state() == "Training"; },
                              absl::Minutes(1)));
  world_.faulty->DropStatusFields({GetParam()});
  const size_t pods = world_.Pods().size();
  ASSERT_TRUE(world_.RunUntil([&] { return IsReported(); }, absl::Minutes(1)));
  const int64_t steps = world_.fleet->steps_done();
  world_.RunFor(absl::Seconds(5));
  EXPECT_GT(world_.fleet->steps_done(), steps);
  EXPECT_EQ(world_.Pods().size(), pods);
  world_.faulty->DropStatusFields({});
  ASSERT_TRUE(RunToTheEnd());
  // Term and round do go back when the server drops them.
  auto broken = world_.promises.broken();
  std::erase_if(broken, [](const std::string& promise) {
    return promise == "gpt: term went back" || promise == "gpt: round went back";
  });
  EXPECT_THAT(broken, IsEmpty());
}

// The job with its status would exceed the store's limit on the size of an object.
TEST_F(OlderCrdTest, AStatusThatIsTooLargeIsReportedAndRetriedWhenTheJobChanges) {
  const absl::Status refusal =
      kube::ApiError(kube::Reason::kTooLarge, "etcdserver: request is too large");
  world_.faulty->FailNext(kube::Verb::kUpdateStatus, refusal);
  const TrainingJob job = world_.CreateJob("gpt");
  ASSERT_TRUE(world_.RunUntil([&] { return IsReported(); }, absl::Seconds(30)));
  EXPECT_THAT(Admitted().message(), HasSubstr("request is too large"));
  EXPECT_TRUE(HasEvent());
  world_.RunFor(absl::Minutes(5));
  EXPECT_THAT(world_.Pods(), IsEmpty());
  // The user edits the job, which may then fit.
  Json smaller = *world_.memory->Get(kube::kTrainingJobs, {"default", "gpt"});
  smaller["spec"]["trainer"]["train"]["steps"] = 20;
  ASSERT_TRUE(world_.memory->Update(kube::kTrainingJobs, smaller).ok());
  ASSERT_TRUE(RunToTheEnd());
}

}  // namespace
}  // namespace muster::control
