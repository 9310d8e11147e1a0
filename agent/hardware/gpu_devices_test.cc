// Reads devices through the real loader from a fake driver's library: testdata/fake_nvml.cc.
#include "agent/hardware/gpu_devices.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLibrary[] = "agent/hardware/libfake_nvml.so";

class GpuDevicesTest : public testing::Test {
 protected:
  GpuDevices Read(const std::string& text) const {
    const std::string path = folder_ + "/nvml.txt";
    std::ofstream(path) << "driver 580.65.06\n" << text;
    ::setenv("FAKE_NVML", path.c_str(), 1);
    return ReadGpuDevices(kLibrary, SysfsTree(folder_));
  }
  void SetNumaNode(const std::string& pci, int node) const {
    const std::string at = folder_ + "/bus/pci/devices/" + pci;
    std::filesystem::create_directories(at);
    std::ofstream(at + "/numa_node") << node << "\n";
  }

  const std::string folder_ = testing::TempDir() + "gpu_devices";
};

TEST_F(GpuDevicesTest, GpusHaveTheirPlaceInTheMachine) {
  SetNumaNode("0000:1b:00.0", 0);
  SetNumaNode("0000:9a:00.0", 1);
  const GpuDevices found = Read(
      "gpu uuid=GPU-a name=NVIDIA_H100 pci=00000000:1B:00.0 peers=2 board=0\n"
      "gpu uuid=GPU-b name=NVIDIA_H100 pci=00000000:9A:00.0 board=0\n"
      "gpu uuid=GPU-c name=NVIDIA_H100 pci=00000000:9B:00.0 peers=0 board=1\n");
  EXPECT_EQ(found.absence, "");
  EXPECT_EQ(found.driver_version, "580.65.06");
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[0].uuid, "GPU-a");
  EXPECT_EQ(found.devices[0].product, "NVIDIA H100");
  EXPECT_EQ(found.devices[0].pci_address, "0000:1b:00.0");
  EXPECT_EQ(found.devices[0].numa_node, 0);
  EXPECT_EQ(found.devices[1].numa_node, 1);
  EXPECT_EQ(found.devices[2].numa_node, std::nullopt);
  EXPECT_EQ(found.distances, (std::vector<std::vector<int>>{{0, 2, 1}, {2, 0, 7}, {1, 7, 0}}));
}

TEST_F(GpuDevicesTest, ADividedGpuIsItsMigDevices) {
  const GpuDevices found = Read(
      "gpu uuid=GPU-a name=NVIDIA_A100 pci=00000000:1B:00.0 mig=MIG-1,MIG-2\n"
      "gpu uuid=GPU-b name=NVIDIA_A100 pci=00000000:1C:00.0 mig=\n"
      "gpu uuid=GPU-c name=NVIDIA_A100 pci=00000000:1D:00.0\n");
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[0].uuid, "MIG-1");
  EXPECT_EQ(found.devices[1].uuid, "MIG-2");
  EXPECT_EQ(found.devices[1].gpu, 0);
  EXPECT_EQ(found.devices[1].pci_address, "0000:1b:00.0");
  EXPECT_EQ(found.devices[2].uuid, "GPU-c");
  EXPECT_EQ(found.distances[0], (std::vector<int>{0, 0, 7}));
}

TEST_F(GpuDevicesTest, ALostGpuIsNone) {
  const GpuDevices found = Read(
      "gpu uuid=GPU-a name=A pci=00000000:1B:00.0 fail=nvmlDeviceGetHandleByIndex_v2:15\n"
      "gpu uuid=GPU-b name=A pci=00000000:1C:00.0\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0].uuid, "GPU-b");
  EXPECT_EQ(found.devices[0].gpu, 1);
}

TEST_F(GpuDevicesTest, WithoutADriverItSaysWhy) {
  EXPECT_THAT(Read("init 9\n").absence, HasSubstr("NVML does not start: Driver Not Loaded (9)"));
  const GpuDevices none = ReadGpuDevices("libno_such_nvml.so", SysfsTree(folder_));
  EXPECT_THAT(none.absence, HasSubstr("NVML is not here: libno_such_nvml.so"));
  EXPECT_THAT(none.devices, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
