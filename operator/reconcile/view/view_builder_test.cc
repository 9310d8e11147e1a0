#include "operator/reconcile/view/view_builder.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

TEST(ViewBuilderTest, OnlyProbesOfTheWorkerThatEndItCount) {
  const std::pair<const char*, bool> kTemplates[] = {
      {R"({"spec": {"containers": [{"name": "worker", "livenessProbe": {}}]}})", true},
      {R"({"spec": {"containers": [{"name": "worker", "startupProbe": {}}]}})", true},
      {R"({"spec": {"containers": [{"name": "worker", "readinessProbe": {}}]}})", false},
      {R"({"spec": {"containers": [{"name": "log", "livenessProbe": {}}]}})", false},
      {"[]", false},
      {"", false},
  };
  for (const auto& [raw, probed] : kTemplates) {
    v1alpha1::TrainingJobSpec spec;
    spec.mutable_template_()->set_raw(raw);
    EXPECT_EQ(ValidateSpec(spec, "team").probed, probed) << raw;
  }
}

}  // namespace
}  // namespace muster::control
