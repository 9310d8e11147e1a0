#include "trainer/cuda/device_kernels.h"

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/full.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/random/element_run.h"
#include "trainer/random/fill.h"

namespace muster::trainer::cuda {
namespace {

// The emulated kernels compute in the host's memory, so that tensors of the CPU take the place of a
// card's, and the trainer's loops for CPUs say what is right.
const Kernels& OnEmulation() {
  static const auto* const kernels =
      MakeDeviceKernels([](c10::Device) -> Stream { return nullptr; }).release();
  return *kernels;
}

at::Tensor Poisoned(int64_t count, at::ScalarType type) {
  return at::full({count}, std::numeric_limits<double>::quiet_NaN(), at::TensorOptions(type));
}

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble};

TEST(DeviceKernelsTest, FillsAreThoseOfTheCpu) {
  const std::vector<ElementRun> runs = {{.begin = 3, .count = 100}, {.begin = 1000, .count = 157}};
  const NormalKey normal{.seed = 11, .name = "h.0.mlp.c_fc.weight", .deviation = 0.02};
  const DropoutKey dropout{.seed = 7, .step = 19, .layer = 3, .site = 1};
  const std::vector<int64_t> samples = {5, int64_t{1} << 40, 6};
  for (const at::ScalarType type : kTypes) {
    const at::Tensor here = Poisoned(257, type), there = Poisoned(257, type);
    KernelsOf(here).FillNormal(normal, runs, here);
    OnEmulation().FillNormal(normal, runs, there);
    // The emulation's logarithm may be another one, in the last bit of a double.
    EXPECT_LT((here - there).abs().max().item<double>(), type == at::kFloat ? 1e-8 : 1e-16);
    const at::Tensor mask = Poisoned(3 * 257, type), same = Poisoned(3 * 257, type);
    KernelsOf(mask).FillDropout(dropout, 0.1, samples, runs, mask);
    OnEmulation().FillDropout(dropout, 0.1, samples, runs, same);
    EXPECT_TRUE(mask.equal(same));
  }
}

TEST(DeviceKernelsTest, SumsOfSquaresHaveTheBitsOfTheCpu) {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor flat = at::randn({5 * 4096}, type);
    EXPECT_TRUE(OnEmulation().ChunkSquares(flat, 5).equal(KernelsOf(flat).ChunkSquares(flat, 5)));
    EXPECT_EQ(OnEmulation().ChunkSquares(flat.narrow(0, 0, 0), 0).numel(), 0);
  }
}

TEST(DeviceKernelsTest, ADigestShowsAnyChangeOfTheElementsTheirNumberAndTheSeed) {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor flat = at::randn({4096}, type);
    const at::Tensor copy = flat.clone();
    const uint64_t digest = OnEmulation().Digest(flat, 5);
    EXPECT_EQ(OnEmulation().Digest(copy, 5), digest);
    EXPECT_NE(OnEmulation().Digest(copy, 6), digest);
    EXPECT_NE(OnEmulation().Digest(copy.narrow(0, 0, 4095), 5), digest);
    copy[4095].neg_();
    EXPECT_NE(OnEmulation().Digest(copy, 5), digest);
    const at::Tensor zeros = at::zeros({4096}, type);
    EXPECT_NE(OnEmulation().Digest(zeros, 5), OnEmulation().Digest(zeros.narrow(0, 0, 2048), 5));
  }
}

TEST(DeviceKernelsTest, ALaunchThatFailsIsAnExceptionInWords) {
  const at::Tensor flat = at::randn({3 * 17});  // no multiple of the sixteen lanes
  try {
    OnEmulation().ChunkSquares(flat, 3);
    FAIL() << "summed chunks of 17 elements";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("summing squares: invalid argument"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
