#include "operator/api/training_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "base/field_error.h"
#include "base/json.h"

namespace muster::control {
namespace {

Json Queue(const Json& spec) {
  return {{"apiVersion", "muster.dev/v1alpha1"},
          {"kind", "TrainingQueue"},
          {"metadata", {{"name", "research"}, {"uid", "u"}, {"generation", 3}}},
          {"spec", spec}};
}

TEST(TrainingQueue, HasItsDefaults) {
  const auto queue = ParseTrainingQueue(
      Queue({{"quotas", {{{"resource", "nvidia.com/gpu"}}}}, {"of-a-newer-version", 1}}));
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_EQ(queue->name, "research");
  EXPECT_EQ(queue->generation, 3);
  EXPECT_EQ(queue->spec.weight(), 1);
  EXPECT_EQ(queue->spec.quotas(0).nominal(), "0");
  EXPECT_EQ(queue->spec.preemption().reclaim(), "Any");
  EXPECT_EQ(queue->spec.preemption().within_queue(), "LowerPriority");
}

TEST(TrainingQueue, AMinimumRunTimeIsOffOrPositive) {
  EXPECT_EQ(ParseTrainingQueue(Queue(Json::object()))->spec.preemption().min_runtime(), "0s");
  for (const char* good : {"0s", "90s", "1h30m"}) {
    const auto queue = ParseTrainingQueue(Queue({{"preemption", {{"minRuntime", good}}}}));
    EXPECT_TRUE(queue.ok()) << queue.status();
  }
  for (const char* bad : {"", "0", "-5m", "0ms", "soon"}) {
    EXPECT_FALSE(ParseTrainingQueue(Queue({{"preemption", {{"minRuntime", bad}}}})).ok()) << bad;
  }
}

TEST(TrainingQueue, SaysEveryError) {
  TrainingQueue queue;
  const FieldErrors errors = DecodeTrainingQueue(
      Queue({{"wieght", 2}, {"parent", "research"}, {"preemption", {{"reclaim", "Always"}}}}),
      UnknownFields::kReport, queue);
  std::string paths;
  for (const FieldError& error : errors) paths += error.path + " ";
  EXPECT_EQ(paths, "spec.wieght spec.preemption.reclaim spec.parent ") << ToStatus(errors);
}

TEST(TrainingQueue, RefusesAResourceTwice) {
  TrainingQueue queue;
  const Json twice = {{{"resource", "cpu"}}, {{"resource", "memory"}}, {{"resource", "cpu"}}};
  const FieldErrors errors =
      DecodeTrainingQueue(Queue({{"quotas", twice}}), UnknownFields::kReport, queue);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0], (FieldError{"spec.quotas[2]", "\"cpu\" is listed twice"}));
}

TEST(TrainingQueue, NeedsAName) {
  EXPECT_EQ(ParseTrainingQueue(Json::object()).status().message(),
            "metadata: is missing: a queue needs a name");
}

}  // namespace
}  // namespace muster::control
