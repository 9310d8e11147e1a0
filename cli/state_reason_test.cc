#include "cli/state_reason.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

v1alpha1::TrainingJobStatus Status(const std::string& state) {
  v1alpha1::TrainingJobStatus status;
  status.set_state(state);
  const auto add = [&](const char* type, const char* value, const char* reason) {
    v1alpha1::Condition& condition = *status.add_conditions();
    condition.set_type(type);
    condition.set_status(value);
    condition.set_reason(reason);
  };
  add("Admitted", "True", "Accepted");
  add("Running", "False", "RankFailed");
  add("Failed", "True", "IdenticalFailures");
  add("Scheduled", "True", "PodsBound");
  return status;
}

TEST(StateReasonTest, AJobThatRecoversSaysWhatBroke) {
  EXPECT_EQ(StateReason(Status("Recovering")), "RankFailed");
}

TEST(StateReasonTest, OtherStatesHaveTheirOwnConditions) {
  EXPECT_EQ(StateReason(Status("Failed")), "IdenticalFailures");
  EXPECT_EQ(StateReason(Status("Starting")), "PodsBound");
  EXPECT_EQ(StateReason(Status("Training")), "");
  EXPECT_EQ(StateReason({}), "");
}

}  // namespace
}  // namespace muster::cli
