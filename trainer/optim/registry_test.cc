#include "trainer/optim/registry.h"

#include <string>

#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::trainer {
namespace {

v1alpha1::FieldSchema SchemaOf(const std::string& field) {
  return v1alpha1::OptimizerSpec::descriptor()->FindFieldByName(field)->options().GetExtension(
      v1alpha1::schema);
}

TEST(RegistryTest, EveryOptimizerAndScheduleThatTheSchemaAllowsHasARow) {
  const v1alpha1::FieldSchema optimizers = SchemaOf("name");
  EXPECT_GE(optimizers.values_size(), 2);
  for (const std::string& name : optimizers.values()) {
    EXPECT_TRUE(Optimizers().Find(name).ok()) << name;
  }
  const v1alpha1::FieldSchema schedules = SchemaOf("schedule");
  EXPECT_GE(schedules.values_size(), 3);
  for (const std::string& name : schedules.values()) {
    EXPECT_TRUE(Schedules().Find(name).ok()) << name;
  }
}

TEST(RegistryTest, UnknownNamesAreRefusedWithThoseThatThereAre) {
  EXPECT_EQ(Schedules().Find("step").status().message(),
            "optimizer.schedule: \"step\" is none of constant, linear, cosine, wsd, "
            "inverseSqrt");
}

TEST(RegistryTest, ARowIsAddedOnce) {
  Registry<int> numbers("number", {{"one", 1}});
  ASSERT_TRUE(numbers.Add("two", 2).ok());
  EXPECT_EQ(*numbers.Find("two"), 2);
  EXPECT_EQ(numbers.Add("one", 3).message(), "number: \"one\" is registered twice");
  EXPECT_EQ(*numbers.Find("one"), 1);
}

}  // namespace
}  // namespace muster::trainer
