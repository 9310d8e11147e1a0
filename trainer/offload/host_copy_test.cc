#include "trainer/offload/host_copy.h"

#include <cstdint>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "ATen/ops/zeros_like.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "trainer/device/testing/fake_device.h"

namespace muster::trainer {
namespace {

TEST(HostCopyTest, PartsOfTensorsComeAndGoOnTheHostAndOnADevice) {
  for (const c10::Device& device : {c10::Device(at::kCPU), FakeDevice()}) {
    const at::Tensor whole = at::randn({100}).to(device);
    const at::Tensor part = whole.narrow(0, 30, 20);
    std::vector<std::byte> bytes(part.nbytes());
    ASSERT_TRUE(CopyToHost(part, bytes).ok());
    const at::Tensor other = at::zeros({100}, whole.options());
    ASSERT_TRUE(CopyFromHost(bytes, other.narrow(0, 5, 20)).ok());
    EXPECT_TRUE(at::equal(other.cpu().narrow(0, 5, 20), part.cpu()));
    EXPECT_EQ(other.cpu().ne(0).sum().item<int64_t>(), 20);
  }
}

// The tensor takes each of the two pinned buffers more than once, and not a whole number of them.
TEST(HostCopyTest, ALargeTensorComesFromADeviceInPiecesWhileTheHostEmptiesOthers) {
  const at::Tensor from = at::randn({(int64_t{70} << 20) / 4 + 3});
  const at::Tensor on_device = from.to(FakeDevice());
  const at::Tensor changed = on_device.mul(2);
  at::Tensor into = at::zeros_like(from);
  const int64_t before = FakeDeviceReads();
  ASSERT_TRUE(
      CopyToHost(changed, {static_cast<std::byte*>(into.mutable_data_ptr()), into.nbytes()}).ok());
  EXPECT_TRUE(at::equal(into, from.mul(2)));
  EXPECT_EQ(FakeDeviceReads() - before, 5) << "one for each buffer of 16 MiB";
}

TEST(HostCopyTest, ATensorGoesToADeviceFromPinnedMemory) {
  const at::Tensor tensor = at::randn({100});
  EXPECT_TRUE(ToDevice(tensor, at::kCPU).is_same(tensor));
  const int64_t before = FakeDeviceWaits();
  const at::Tensor there = ToDevice(tensor, FakeDevice());
  EXPECT_EQ(FakeDeviceWaits(), before);
  EXPECT_TRUE(at::equal(there.cpu(), tensor));
  (void)tensor.to(FakeDevice(), /*non_blocking=*/true);
  EXPECT_EQ(FakeDeviceWaits(), before + 1) << "from memory that is not pinned";
}

TEST(HostCopyTest, ADeviceThatBreaksIsAnError) {
  const at::Tensor tensor = at::zeros({5}).to(FakeDevice());
  std::vector<std::byte> bytes(20);
  BreakFakeDevice(true);
  const absl::Status status = CopyToHost(tensor, bytes);
  BreakFakeDevice(false);
  EXPECT_EQ(status, absl::InternalError("copying from a device: the fake device is broken"));
}

TEST(HostCopyTest, SizesThatDifferAreAnError) {
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(CopyToHost(at::zeros({5}), bytes),
            absl::InternalError("a tensor of 20 bytes is copied to or from 16"));
  EXPECT_EQ(CopyFromHost(bytes, at::zeros({3})),
            absl::InternalError("a tensor of 12 bytes is copied to or from 16"));
}

}  // namespace
}  // namespace muster::trainer
