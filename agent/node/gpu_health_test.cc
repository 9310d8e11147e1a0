#include "agent/node/gpu_health.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

GpuReading Gpu() {
  GpuReading gpu;
  gpu.uuid = "GPU-a";
  gpu.ecc_corrected = 1000;
  gpu.ecc_uncorrected = 0;
  gpu.row_remap_pending = true;
  return gpu;
}

TEST(GpuHealthTest, CorrectedErrorsAndProgramsFaultsLeaveAGpuWell) {
  XidCounts xids;
  Count({{"GPU-a", 13}, {"GPU-a", 31}, {"GPU-a", 43}, {"GPU-a", 63}, {"GPU-a", 94}}, xids);
  EXPECT_TRUE(FaultsOf(Gpu(), xids).empty());
}

TEST(GpuHealthTest, AFatalXidIsAFaultOfItsOwnGpuAlone) {
  XidCounts xids;
  Count({{"GPU-a", 79}, {"GPU-a", 79}, {"GPU-b", 48}}, xids);
  EXPECT_EQ(xids.at({"GPU-a", 79}), 2u);
  EXPECT_EQ(FaultsOf(Gpu(), xids),
            (std::vector<HealthFault>{{"FatalXid", "XID 79: the GPU has fallen off the bus"}}));
  GpuReading other = Gpu();
  other.uuid = "GPU-0";
  EXPECT_TRUE(FaultsOf(other, xids).empty());
  other.uuid = "GPU-c";
  EXPECT_TRUE(FaultsOf(other, xids).empty());
}

TEST(GpuHealthTest, EachFaultOfTheHardwareIsNamed) {
  GpuReading gpu = Gpu();
  gpu.lost = true;
  gpu.row_remap_failed = true;
  gpu.ecc_uncorrected = 2;
  const auto faults = FaultsOf(gpu, {});
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].reason, "GpuLost");
  EXPECT_EQ(faults[1].reason, "RowRemapFailure");
  EXPECT_EQ(faults[2].reason, "UncorrectableEcc");
  EXPECT_EQ(faults[2].detail, "2 uncorrectable ECC errors since the driver was loaded");
}

TEST(GpuHealthTest, CountsDoNotGrowWithoutBound) {
  XidCounts xids;
  for (uint64_t i = 0; i < kMostXidPairs + 10; ++i) Count({{absl::StrCat("GPU-", i), 79}}, xids);
  EXPECT_EQ(xids.size(), kMostXidPairs);
}

TEST(XidStoreTest, CountsSurviveTheAgent) {
  const XidCounts counts = {{{"GPU-a", 79}, 2}, {{"GPU-a", 13}, 1}, {{"GPU-b", 48}, 1}};
  const auto read = ParseXids(FormatXids(counts));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, counts);
}

TEST(XidStoreTest, AFileOfSomethingElseIsNamed) {
  for (const char* text : {"", "[]", "{\"GPU-a\": 79}", "{\"GPU-a\": {\"x\": 1}}",
                           "{\"GPU-a\": {\"79\": -1}}", "{\"GPU-a\": {\"79\": \"1\"}}"}) {
    EXPECT_EQ(ParseXids(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseXids("{\"GPU-a\": 79}").status().message(),
            "GPU-a: wants counts by GPU and XID, as {\"GPU-5f...\": {\"79\": 1}}");
}

}  // namespace
}  // namespace muster::agent
