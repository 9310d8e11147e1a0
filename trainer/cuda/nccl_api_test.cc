#include "trainer/cuda/nccl_api.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace muster::trainer::cuda {
namespace {

constexpr char kNccl[] = "external/cuda/nvidia/nccl/lib/libnccl.so.2";

// NCCL answers these calls without a driver.
TEST(NcclApiTest, TheRealLibraryHasEveryFunctionAndTheVersionOfItsHeader) {
  const absl::StatusOr<NcclApi> api = LoadNccl(kNccl);
  ASSERT_TRUE(api.ok()) << api.status();
  int version = 0;
  ASSERT_EQ(api->get_version(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  EXPECT_EQ(std::string(api->get_error_string(ncclSuccess)), "no error");
}

TEST(NcclApiTest, ALibraryThatIsNotThereIsNamed) {
  const absl::Status status = LoadNccl("libnccl.so.999").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "NCCL cannot be loaded: libnccl.so.999"))
      << status;
}

TEST(NcclApiTest, AnotherLibraryLacksTheFunctions) {
  const absl::Status status = LoadNccl("libm.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "libm.so.6 lacks ncclGetVersion, ")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "NCCL 2.18.0 or newer is needed")) << status;
}

}  // namespace
}  // namespace muster::trainer::cuda
