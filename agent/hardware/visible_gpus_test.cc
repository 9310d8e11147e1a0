#include "agent/hardware/visible_gpus.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

GpuDevices Three() {
  GpuDevices all{.driver_version = "580.1"};
  all.devices = {
      {.uuid = "GPU-aa1", .gpu = 0}, {.uuid = "GPU-ab2", .gpu = 1}, {.uuid = "MIG-c3", .gpu = 2}};
  all.distances = {{0, 1, 2}, {1, 0, 3}, {2, 3, 0}};
  return all;
}

std::string Uuids(const GpuDevices& left) {
  std::vector<std::string> uuids;
  for (const GpuDevice& device : left.devices) uuids.push_back(device.uuid);
  return absl::StrJoin(uuids, " ");
}

TEST(VisibleGpusTest, UuidsAndTheirBeginningsNameDevices) {
  for (const auto select : {SelectGiven, SelectChosen}) {
    EXPECT_EQ(Uuids(select(Three(), "MIG-c3,GPU-aa1")), "GPU-aa1 MIG-c3");
    EXPECT_EQ(Uuids(select(Three(), "GPU-ab")), "GPU-ab2");
    EXPECT_EQ(Uuids(select(Three(), " GPU-none , GPU-ab2")), "GPU-ab2");
    EXPECT_EQ(Uuids(select(Three(), "GPU-none")), "");
  }
}

// A container that was given the third and fourth GPU of a machine numbers them from 0.
TEST(VisibleGpusTest, NumbersAreIndicesOnlyWhereSomebodyChooses) {
  EXPECT_EQ(Uuids(SelectChosen(Three(), " 2 , 0")), "GPU-aa1 MIG-c3");
  EXPECT_EQ(Uuids(SelectChosen(Three(), "7")), "");
  EXPECT_EQ(Uuids(SelectGiven(Three(), "5,6,7")), "GPU-aa1 GPU-ab2 MIG-c3");
}

TEST(VisibleGpusTest, WordsThatNameNoneLeaveAll) {
  for (const char* word : {"", "all", "void", "none", "/var/run/nvidia-container-devices",
                           "nvidia.com/gpu=0", "0:1", "MIG-GPU-aa1/1/0"}) {
    EXPECT_EQ(Uuids(SelectGiven(Three(), word)), "GPU-aa1 GPU-ab2 MIG-c3") << word;
    EXPECT_EQ(Uuids(SelectChosen(Three(), word)), "GPU-aa1 GPU-ab2 MIG-c3") << word;
  }
}

TEST(VisibleGpusTest, TheRestStaysWithThem) {
  const GpuDevices left = SelectChosen(Three(), "0,2");
  EXPECT_EQ(left.driver_version, "580.1");
  EXPECT_EQ(left.distances, (std::vector<std::vector<int>>{{0, 2}, {2, 0}}));
}

}  // namespace
}  // namespace muster::agent
