#include "operator/api/job_field.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

Json Failed() {
  return Json::parse(R"({"spec": {"workers": {"count": 2}},
                         "status": {"failures": {"count": 3}, "state": "Failed"}})");
}

TEST(JobFieldTest, ReadsAFieldThatIsSetAndNothingForOneThatIsNot) {
  const Json job = Failed();
  ASSERT_NE(JobField(job, {"status", "failures", "count"}), nullptr);
  EXPECT_EQ(*JobField(job, {"status", "failures", "count"}), 3);
  EXPECT_EQ(JobField(job, {"status", "failures", "ignored"}), nullptr);
  EXPECT_EQ(JobField(job, {"status", "checkpoint", "step"}), nullptr);
  EXPECT_EQ(JobField(Json::array(), {"status", "round"}), nullptr);
  EXPECT_EQ(JobNumber(job, {"spec", "workers", "count"}), 2);
  EXPECT_EQ(JobNumber(job, {"status", "round"}), 0);
  EXPECT_EQ(JobText(job, {"status", "state"}), "Failed");
  EXPECT_EQ(JobText(job, {"status", "selector"}), "");
}

// A misspelt name is absent from every job, whatever its state.
TEST(JobFieldTest, ANameThatTheApiDoesNotHaveCannotBeAssertedAbsent) {
  const Json job = Failed();
  EXPECT_DEATH(JobField(job, {"status", "failures", "counted"}),
               "status.failures.counted is not a field: there is no counted");
  EXPECT_DEATH(JobField(job, {"state", "round"}), "state.round is not a field: nothing is inside");
  EXPECT_DEATH(JobField(job, {"status", "observed_generation"}), "there is no observed_generation");
  EXPECT_DEATH(JobField(job, {"status", "round", "step"}), "nothing is inside round");
  EXPECT_DEATH(JobField(job, {"status", "conditions", "type"}), "nothing is inside conditions");
}

TEST(JobFieldTest, AValueOfAnotherTypeAborts) {
  const Json job = Failed();
  EXPECT_DEATH(JobNumber(job, {"status", "state"}), "is not an integer: \"Failed\"");
  EXPECT_DEATH(JobText(job, {"status", "failures", "count"}), "is not a string: 3");
}

}  // namespace
}  // namespace muster::control
