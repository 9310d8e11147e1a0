// Tests the engine on a device whose memory the host cannot read.
#include <cmath>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/allclose.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/engine/engine.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/model/families/model_factory.h"

namespace muster::trainer {
namespace {

planner::ModelShape Shape(planner::ModelFamily family, double dropout) {
  planner::ModelShape shape = TinyModel(dropout);
  shape.family = family;
  return shape;
}

class DeviceTest : public testing::TestWithParam<planner::ModelFamily> {};

TEST_P(DeviceTest, AStepOnADeviceIsTheCpusToRounding) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  const planner::ModelShape shape = Shape(GetParam(), 0.1);
  SoloEngine here(options, shape);
  options.device = FakeDevice();
  SoloEngine there(options, shape);
  const std::vector<double> a = here.Losses(5), b = there.Losses(5);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-11) << i;
  const auto tensors_a = here.state->FlatTensors(), tensors_b = there.state->FlatTensors();
  for (size_t i = 0; i < tensors_a.size(); ++i) {
    EXPECT_EQ(tensors_b[i].tensor.device(), FakeDevice());
    EXPECT_TRUE(at::allclose(tensors_a[i].tensor, tensors_b[i].tensor.cpu(), 1e-7, 1e-9))
        << tensors_a[i].name;
  }
  const auto validation_a = here.engine.Validate(2), validation_b = there.engine.Validate(2);
  ASSERT_TRUE(validation_b.ok()) << validation_b.status();
  EXPECT_NEAR(*validation_a, *validation_b, 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceTest,
                         testing::Values(planner::ModelFamily::kGpt2, planner::ModelFamily::kLlama,
                                         planner::ModelFamily::kBloom));

}  // namespace
}  // namespace muster::trainer
