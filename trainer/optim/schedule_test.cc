#include "trainer/optim/schedule.h"

#include <string>

#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::trainer {
namespace {

TEST(ScheduleTest, WarmsUpLinearlyToThePeak) {
  const Schedule s{.kind = Schedule::Kind::kCosine, .peak = 1.0, .warmup_steps = 4, .steps = 104};
  EXPECT_DOUBLE_EQ(s.At(1), 0.25);
  EXPECT_DOUBLE_EQ(s.At(4), 1.0);
  EXPECT_LT(s.At(5), 1.0);
}

TEST(ScheduleTest, CosineHalvesHalfwayAndEndsAtTheFinalFraction) {
  const Schedule s{.kind = Schedule::Kind::kCosine,
                   .peak = 2.0,
                   .warmup_steps = 0,
                   .steps = 100,
                   .final_fraction = 0.1};
  EXPECT_DOUBLE_EQ(s.At(50), 2.0 * 0.55);
  EXPECT_DOUBLE_EQ(s.At(100), 0.2);
  EXPECT_DOUBLE_EQ(s.At(1000), 0.2);
}

TEST(ScheduleTest, LinearFallsToTheFinalFractionAndConstantStays) {
  Schedule s{.kind = Schedule::Kind::kLinear, .peak = 1.0, .warmup_steps = 10, .steps = 20};
  EXPECT_DOUBLE_EQ(s.At(15), 0.5);
  EXPECT_DOUBLE_EQ(s.At(20), 0.0);
  s.kind = Schedule::Kind::kConstant;
  EXPECT_DOUBLE_EQ(s.At(20), 1.0);
}

TEST(ScheduleTest, EveryScheduleThatTheSchemaAllowsIsRead) {
  const auto* field = v1alpha1::OptimizerSpec::descriptor()->FindFieldByName("schedule");
  const v1alpha1::FieldSchema& schema = field->options().GetExtension(v1alpha1::schema);
  EXPECT_GE(schema.values_size(), 3);
  for (const std::string& name : schema.values()) {
    EXPECT_TRUE(ParseScheduleKind(name).ok()) << name;
  }
}

TEST(ScheduleTest, UnknownNamesAreRefused) {
  EXPECT_EQ(ParseScheduleKind("step").status().message(),
            "optimizer.schedule: \"step\" is not constant, linear or cosine");
  EXPECT_EQ(*ParseScheduleKind("linear"), Schedule::Kind::kLinear);
}

}  // namespace
}  // namespace muster::trainer
