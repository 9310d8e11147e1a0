#include "trainer/cuda/load_library.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace muster::trainer::cuda {
namespace {

constexpr char kLibrary[] = "trainer/cuda/libmuster_cuda.so";

TEST(LoadLibraryTest, AMachineWithoutADriverIsToldSo) {
  const absl::Status status = LoadCudaLibrary({.driver = "libcuda.so.999"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "this machine has no NVIDIA driver: libcuda.so.999"))
      << status;
}

TEST(LoadLibraryTest, ALibraryOfSomethingElseIsRefused) {
  EXPECT_EQ(LoadCudaLibrary({.driver = "libc.so.6", .torch = "", .library = "libm.so.6"}).status(),
            absl::FailedPreconditionError("libm.so.6 is not muster's library for GPUs"));
}

// Without LibTorch's half for GPUs and without a driver the library loads all the same: what it
// lacks is known when it is used. The check ends in words here, or well on a machine with a GPU.
TEST(LoadLibraryTest, TheLibraryLoadsAndSaysWhetherAGpuAnswers) {
  const auto library = LoadCudaLibrary({.driver = "libc.so.6", .torch = "", .library = kLibrary});
  ASSERT_TRUE(library.ok()) << library.status();
  ASSERT_NE((*library)->make_queue, nullptr);
  ASSERT_NE((*library)->make_nccl_connector, nullptr);
  const absl::Status status = (*library)->check(0);
  if (status.ok()) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), "no GPU can be used: ")) << status;
}

}  // namespace
}  // namespace muster::trainer::cuda
