// Tests how this library is loaded, and what it says of a machine without a card.

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "trainer/device/load_cuda.h"

namespace muster::trainer::cuda {
namespace {

constexpr char kLibrary[] = "trainer/cuda/libmuster_cuda.so";

TEST(LoadCudaTest, AMachineWithoutADriverIsToldSo) {
  const absl::Status status = LoadCuda({.driver = "libcuda.so.999"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "this machine has no NVIDIA driver: libcuda.so.999"))
      << status;
}

TEST(LoadCudaTest, ALibraryOfSomethingElseIsRefused) {
  EXPECT_EQ(LoadCuda({.driver = "libc.so.6", .torch = "", .library = "libm.so.6"}).status(),
            absl::FailedPreconditionError("libm.so.6 is not muster's library for GPUs"));
}

TEST(LoadCudaTest, AnImageWithoutThePartForGpusIsToldSo) {
  const auto message = [](const CudaPlaces& places) {
    return std::string(LoadCuda(places).status().message());
  };
  const std::string half = message({.driver = "libc.so.6", .torch = "libno_torch.so"});
  EXPECT_TRUE(absl::StartsWith(half,
                               "LibTorch's library for GPUs (of PyTorch 2.11 for CUDA 13) "
                               "cannot be loaded: libno_torch.so: "))
      << half;
  const std::string ours =
      message({.driver = "libc.so.6", .torch = "", .library = "libno_muster.so"});
  EXPECT_TRUE(absl::StartsWith(ours, "muster's library for GPUs cannot be loaded: libno_muster.so"))
      << ours;
  for (const std::string& text : {half, ours}) {
    EXPECT_TRUE(
        absl::EndsWith(text, ": build the workers' image with the part for GPUs, docs/gpu.md"))
        << text;
  }
}

// Without LibTorch's half for GPUs and without a driver the library loads all the same: what it
// lacks is known when it is used. The calls end in words here, or well on a machine with a GPU.
TEST(LoadCudaTest, TheLibraryLoadsAndSaysWhetherAGpuAnswers) {
  const auto runtime = LoadCuda({.driver = "libc.so.6", .torch = "", .library = kLibrary});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ((*runtime)->type(), c10::DeviceType::CUDA);
  const auto versions = (*runtime)->Versions();
  ASSERT_TRUE(versions.ok()) << versions.status();
  EXPECT_EQ(versions->built_with / 1000, 13);
  EXPECT_EQ(versions->cuda / 1000, 13);
  const auto count = (*runtime)->Count();
  if (count.ok()) return;
  EXPECT_EQ(count.status().code(), absl::StatusCode::kFailedPrecondition) << count.status();
  EXPECT_TRUE(absl::StartsWith(count.status().message(), "no GPU can be used: ")) << count.status();
  EXPECT_EQ((*runtime)->Use(0), count.status());
  EXPECT_EQ((*runtime)->Describe(0).status(), count.status());
}

TEST(LoadCudaTest, TheLibraryIsLookedForBesideTheProgram) {
  EXPECT_TRUE(absl::EndsWith(FindCuda().library, "trainer/cuda/libmuster_cuda.so"))
      << FindCuda().library;
}

}  // namespace
}  // namespace muster::trainer::cuda
