#include "planner/devices.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::planner {
namespace {

TEST(Devices, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const Device& device : Devices()) {
    EXPECT_TRUE(names.insert(std::string(device.name)).second) << device.name;
    EXPECT_GT(device.memory_bytes, int64_t{30} << 30) << device.name;
    EXPECT_GT(device.bf16, device.fp32) << device.name;
    EXPECT_GE(device.fp32, device.fp64) << device.name;
    EXPECT_GT(device.memory_bandwidth, device.link_bandwidth) << device.name;
    EXPECT_GT(device.link_bandwidth, device.network_bandwidth) << device.name;
    EXPECT_GT(device.link_start, 0) << device.name;
    EXPECT_GT(device.network_start, 0) << device.name;
    EXPECT_GE(device.joined, 1) << device.name;
  }
}

TEST(Devices, OnlyNewerOnesMultiplyFp8) {
  EXPECT_EQ(FindDevice("A100-80GB")->Rate(Precision::kFp8), 0);
  EXPECT_EQ(FindDevice("h100")->Rate(Precision::kFp8), 1978.9e12);
  EXPECT_EQ(FindDevice("H100")->Rate(Precision::kFp16), FindDevice("H100")->bf16);
}

TEST(Devices, AreFoundByTheNameOfTheirDriver) {
  EXPECT_EQ(FindDevice("NVIDIA-A100-SXM4-40GB")->name, "A100-40GB");
  EXPECT_EQ(FindDevice("NVIDIA A100-SXM4-80GB")->name, "A100-80GB");
  EXPECT_EQ(FindDevice("NVIDIA-H100-80GB-HBM3")->name, "H100");
  EXPECT_EQ(FindDevice("NVIDIA H200")->name, "H200");
  EXPECT_EQ(FindDevice("AMD_Instinct_MI300X_OAM")->name, "MI300X");
  EXPECT_EQ(FindDevice("Tesla T4"), nullptr);
  EXPECT_EQ(FindDevice(""), nullptr);
}

// An all-reduce of 1 MB was measured among 2 and among 8 (bus bandwidth 23.7 and 19.8 GB/s).
TEST(Devices, AnA100sStartsAreTheMeasuredOnes) {
  const Device& device = *FindDevice("A100-80GB");
  const auto bus = [&](int ranks) {
    const double moved = 2.0 * (ranks - 1) / ranks * 1e6;
    return moved /
           (device.link_start + device.link_hop * (ranks - 1) + moved / device.link_bandwidth);
  };
  EXPECT_NEAR(bus(2), 23.7e9, 0.05 * 23.7e9);
  EXPECT_NEAR(bus(8), 19.8e9, 0.05 * 19.8e9);
}

TEST(Devices, RanksShareAMachine) {
  const Device whole = *FindDevice("CPU"), half = ShareOfMachine(whole, 2);
  EXPECT_EQ(half.memory_bytes * 2, whole.memory_bytes);
  EXPECT_EQ(half.fp32 * 2, whole.fp32);
  EXPECT_EQ(half.joined, 2);
}

}  // namespace
}  // namespace muster::planner
