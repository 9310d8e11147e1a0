#include "trainer/offload/host_copy.h"

#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
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

TEST(HostCopyTest, SizesThatDifferAreAnError) {
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(CopyToHost(at::zeros({5}), bytes),
            absl::InternalError("a tensor of 20 bytes is copied to or from 16"));
  EXPECT_EQ(CopyFromHost(bytes, at::zeros({3})),
            absl::InternalError("a tensor of 12 bytes is copied to or from 16"));
}

}  // namespace
}  // namespace muster::trainer
