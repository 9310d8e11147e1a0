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

std::string Left(const std::string& list) {
  std::vector<std::string> uuids;
  for (const GpuDevice& device : SelectVisible(Three(), list).devices) uuids.push_back(device.uuid);
  return absl::StrJoin(uuids, " ");
}

TEST(SelectVisibleTest, UuidsTheirBeginningsAndIndicesNameDevices) {
  EXPECT_EQ(Left("MIG-c3,GPU-aa1"), "GPU-aa1 MIG-c3");
  EXPECT_EQ(Left("GPU-ab"), "GPU-ab2");
  EXPECT_EQ(Left(" 2 , 0"), "GPU-aa1 MIG-c3");
  EXPECT_EQ(Left("GPU-none,7"), "");
}

TEST(SelectVisibleTest, WordsThatNameNoneLeaveAll) {
  for (const char* word :
       {"", "all", "void", "none", "/var/run/nvidia-container-devices", "nvidia.com/gpu=0"}) {
    EXPECT_EQ(Left(word), "GPU-aa1 GPU-ab2 MIG-c3") << word;
  }
}

TEST(SelectVisibleTest, TheRestStaysWithThem) {
  const GpuDevices left = SelectVisible(Three(), "0,2");
  EXPECT_EQ(left.driver_version, "580.1");
  EXPECT_EQ(left.distances, (std::vector<std::vector<int>>{{0, 2}, {2, 0}}));
}

}  // namespace
}  // namespace muster::agent
