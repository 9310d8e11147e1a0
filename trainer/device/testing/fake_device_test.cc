#include "trainer/device/testing/fake_device.h"

#include <cstdio>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/Event.h"
#include "c10/core/Stream.h"
#include "c10/core/StreamGuard.h"
#include "c10/core/impl/VirtualGuardImpl.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

TEST(FakeDeviceTest, ItComputesWhatTheCpuComputes) {
  const at::Tensor x = at::randn({7, 5}, at::kDouble), w = at::randn({5, 3}, at::kDouble);
  const at::Tensor there = at::matmul(x.to(FakeDevice()), w.to(FakeDevice()));
  EXPECT_EQ(there.device().type(), c10::DeviceType::PrivateUse1);
  EXPECT_TRUE(at::equal(there.cpu(), at::matmul(x, w)));
  const at::Tensor view = there.t().narrow(0, 1, 2);
  view.add_(1);
  EXPECT_TRUE(at::equal(there.cpu().t().narrow(0, 1, 2), at::matmul(x, w).t().narrow(0, 1, 2) + 1));
}

TEST(FakeDeviceTest, GradientsAreThere) {
  const at::Tensor x = at::randn({4, 4}, at::kDouble).to(FakeDevice()).requires_grad_(true);
  const at::Tensor gradient = torch::autograd::grad({(x * x).sum()}, {x})[0];
  EXPECT_TRUE(at::equal(gradient.cpu(), x.detach().cpu() * 2));
}

TEST(FakeDeviceDeathTest, TheHostCannotReadItsMemory) {
  const at::Tensor x = at::arange(4, at::kFloat).to(FakeDevice());
  EXPECT_DEATH(std::fprintf(stderr, "%f", x.const_data_ptr<float>()[0]), "");
}

TEST(FakeDeviceTest, TensorsOfTheHostAreRefusedBesideItsOwn) {
  const at::Tensor here = at::randn({4}), there = here.to(FakeDevice());
  EXPECT_ANY_THROW(there.add_(here));
  EXPECT_ANY_THROW(at::matmul(there, here));
  there.add_(at::full({}, 2.0));
  EXPECT_TRUE(at::equal(there.cpu(), here + 2));
  std::vector<at::Tensor> value = {there}, moments[2] = {{there}, {there}}, steps = {at::ones({})};
  EXPECT_ANY_THROW(at::_fused_adamw_(value, value, moments[0], moments[1], {}, steps, 0.1, 0.9, 0.9,
                                     0.1, 1e-8, false, false));
}

TEST(FakeDeviceTest, ItHasAFormOfOurLoops) {
  const at::Tensor flat = at::randn({64}).to(FakeDevice());
  const at::Tensor squares = KernelsOf(flat).ChunkSquares(flat, 2);
  EXPECT_EQ(squares.device(), flat.device());
  EXPECT_TRUE(at::equal(squares.cpu(), KernelsOf(flat.cpu()).ChunkSquares(flat.cpu(), 2)));
}

TEST(FakeDeviceTest, ACopyToPinnedMemoryIsThereOnceItsEventHasBeenWaitedFor) {
  const at::Tensor there = at::ones({4}).to(FakeDevice());
  const at::Tensor here = at::empty({4}, at::TensorOptions().pinned_memory(true));
  EXPECT_TRUE(here.is_pinned());
  const c10::impl::VirtualGuardImpl device(FakeDevice().type());
  const c10::Stream stream = device.getStreamFromGlobalPool(FakeDevice());
  c10::Event now(FakeDevice().type()), copied(FakeDevice().type());
  now.record(device.getStream(FakeDevice()));
  now.block(stream);
  {
    const c10::StreamGuard guard(stream);
    here.copy_(there, /*non_blocking=*/true);
  }
  copied.record(stream);
  EXPECT_FALSE(at::equal(here, at::ones({4})));
  const int64_t before = FakeDeviceReads();
  copied.synchronize();
  EXPECT_TRUE(at::equal(here, at::ones({4})));
  copied.synchronize();
  EXPECT_EQ(FakeDeviceReads() - before, 1);
}

TEST(FakeDeviceTest, AStreamThatCopiesWhatItDoesNotWaitForFails) {
  const at::Tensor there = at::ones({4}).to(FakeDevice());
  const at::Tensor here = at::empty({4}, at::TensorOptions().pinned_memory(true));
  const c10::impl::VirtualGuardImpl device(FakeDevice().type());
  const c10::StreamGuard guard(device.getStreamFromGlobalPool(FakeDevice()));
  EXPECT_THROW(here.copy_(there, /*non_blocking=*/true), c10::Error);
}

}  // namespace
}  // namespace muster::trainer
