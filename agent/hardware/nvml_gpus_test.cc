// Reads GPUs through the real loader from a fake driver's library: testdata/fake_nvml.cc.
#include "agent/hardware/nvml_gpus.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;

constexpr char kLibrary[] = "agent/hardware/libfake_nvml.so";
constexpr char kH100[] =
    "gpu uuid=GPU-a name=NVIDIA_H100_80GB_HBM3 pci=00000000:1B:00.0 memory=85520809984 "
    "used=1073741824 util=97 power=412500 limit=700000 energy=5000 temp=61 ecc_corrected=3 "
    "ecc_uncorrected=0 rows=2 links=18 link_down=17 link_crc=1 link_replays=2 link_recoveries=0 "
    "sent_kib=7 received_kib=8 clique=7 cluster=00112233445566778899aabbccddeeff ";
constexpr char kOld[] = "gpu uuid=GPU-b name=Tesla_K80 pci=00000000:43:00.0 memory=1000 used=10 ";

class NvmlGpusTest : public testing::Test {
 protected:
  NvmlGpusTest() {
    char file[] = "/tmp/muster-nvml-XXXXXX";
    ::close(::mkstemp(file));
    path_ = file;
    ::setenv("FAKE_NVML", path_.c_str(), 1);
  }
  ~NvmlGpusTest() override { std::remove(path_.c_str()); }
  void Describe(const std::string& text) { std::ofstream(path_) << "driver 550.90.07\n" << text; }
  GpuReadings Read() { return gpus_.Read(now_); }

  std::string path_;
  absl::Time now_ = absl::UnixEpoch();
  NvmlGpus gpus_{kLibrary};
};

TEST_F(NvmlGpusTest, EverythingThatTheDriverGivesIsRead) {
  Describe(std::string(kH100) + "\n");
  const GpuReadings readings = Read();
  EXPECT_EQ(readings.absence, "");
  EXPECT_EQ(readings.driver_version, "550.90.07");
  ASSERT_EQ(readings.gpus.size(), 1u);
  const GpuReading& gpu = readings.gpus[0];
  EXPECT_EQ(gpu.uuid, "GPU-a");
  EXPECT_EQ(gpu.product, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.pci_address, "0000:1b:00.0");
  EXPECT_FALSE(gpu.lost);
  EXPECT_EQ(gpu.memory_bytes, 85520809984u);
  EXPECT_EQ(gpu.memory_used_bytes, 1073741824u);
  EXPECT_EQ(gpu.utilization, 0.97);
  EXPECT_EQ(gpu.power_watts, 412.5);
  EXPECT_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.energy_joules, 5);
  EXPECT_EQ(gpu.temperature_celsius, 61);
  EXPECT_EQ(gpu.ecc_corrected, 3u);
  EXPECT_EQ(gpu.ecc_uncorrected, 0u);
  EXPECT_EQ(gpu.rows_remapped, 2u);
  EXPECT_FALSE(gpu.row_remap_failed);
  ASSERT_EQ(gpu.nvlinks.size(), 18u);
  EXPECT_TRUE(gpu.nvlinks[0].active);
  EXPECT_FALSE(gpu.nvlinks[17].active);
  EXPECT_EQ(gpu.nvlinks[0].crc_errors, 1u);
  EXPECT_EQ(gpu.nvlinks[0].replays, 2u);
  EXPECT_EQ(gpu.nvlink_sent_bytes, 7168u);
  EXPECT_EQ(gpu.nvlink_received_bytes, 8192u);
  EXPECT_EQ(gpu.nvlink_cluster, "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(gpu.nvlink_clique, 7u);
}

TEST_F(NvmlGpusTest, ValuesThatAGpuLacksAreAbsentAndOthersAreThere) {
  Describe(std::string(kOld) + "\n" + kH100 + "fail=nvmlDeviceGetPowerUsage:999\n");
  const GpuReadings readings = Read();
  ASSERT_EQ(readings.gpus.size(), 2u);
  const GpuReading& old = readings.gpus[0];
  EXPECT_EQ(old.product, "Tesla K80");
  EXPECT_EQ(old.memory_used_bytes, 10u);
  EXPECT_FALSE(old.lost);
  EXPECT_EQ(old.utilization, std::nullopt);
  EXPECT_EQ(old.ecc_uncorrected, std::nullopt);
  EXPECT_TRUE(old.nvlinks.empty());
  EXPECT_EQ(old.nvlink_sent_bytes, std::nullopt);
  EXPECT_EQ(old.nvlink_cluster, "");
  EXPECT_EQ(readings.gpus[1].power_watts, std::nullopt);
  EXPECT_EQ(readings.gpus[1].temperature_celsius, 61);
}

TEST_F(NvmlGpusTest, AGpuOutsideOfAnyFabricHasNoCluster) {
  Describe("gpu uuid=GPU-a clique=0 cluster=00000000000000000000000000000000\n");
  EXPECT_EQ(Read().gpus.at(0).nvlink_cluster, "");
}

TEST_F(NvmlGpusTest, ErrorsOfAGpuComeOnceAndBelongToIt) {
  Describe(std::string(kOld) + "\n" + kH100 + "\n");
  EXPECT_TRUE(Read().xids.empty());
  Describe(std::string(kOld) + "\n" + kH100 + "\nxid gpu=1 code=79\nxid gpu=0 code=31\n");
  const GpuReadings readings = Read();
  ASSERT_EQ(readings.xids.size(), 2u);
  EXPECT_EQ(readings.xids[0].gpu_uuid, "GPU-a");
  EXPECT_EQ(readings.xids[0].xid, 79u);
  EXPECT_EQ(readings.xids[1].gpu_uuid, "GPU-b");
  EXPECT_TRUE(Read().xids.empty());
}

TEST_F(NvmlGpusTest, ALostGpuKeepsItsName) {
  Describe(std::string(kH100) + "\n" + kOld + "\n");
  Read();
  Describe(std::string(kH100) + "fail=all:15\n" + kOld + "\n");
  GpuReadings readings = Read();
  ASSERT_EQ(readings.gpus.size(), 2u);
  EXPECT_TRUE(readings.gpus[0].lost);
  EXPECT_EQ(readings.gpus[0].uuid, "GPU-a");
  EXPECT_EQ(readings.gpus[0].power_watts, std::nullopt);
  EXPECT_FALSE(readings.gpus[1].lost);
  Describe(std::string(kH100) + "fail=nvmlDeviceGetHandleByIndex_v2:15\n" + kOld + "\n");
  EXPECT_TRUE(Read().gpus.at(0).lost);
  Describe(std::string(kH100) + "\n");
  readings = Read();
  ASSERT_EQ(readings.gpus.size(), 2u);
  EXPECT_FALSE(readings.gpus[0].lost);
  EXPECT_TRUE(readings.gpus[1].lost) << "it vanished from the count";
  EXPECT_EQ(readings.gpus[1].uuid, "GPU-b");
}

TEST_F(NvmlGpusTest, AMachineWithoutADriverSaysSo) {
  NvmlGpus none("libmuster-has-no-such-library.so.1");
  const GpuReadings readings = none.Read(now_);
  EXPECT_TRUE(readings.gpus.empty());
  EXPECT_THAT(readings.absence, HasSubstr("NVML is not here: libmuster-has-no-such-library.so.1"));
}

TEST_F(NvmlGpusTest, ALibraryThatIsNotNvmlIsNamed) {
  NvmlGpus other("libc.so.6");
  EXPECT_EQ(other.Read(now_).absence,
            "libc.so.6 has no function nvmlInit_v2: not NVML, or too old");
}

TEST_F(NvmlGpusTest, ADriverThatComesLaterIsFound) {
  Describe("init 9\n");
  EXPECT_EQ(Read().absence, "NVML does not start: Driver Not Loaded (9)");
  Describe(std::string(kH100) + "\n");
  EXPECT_EQ(Read().gpus.size(), 0u) << "not tried again at once";
  now_ += NvmlGpus::kRetry;
  const GpuReadings readings = Read();
  EXPECT_EQ(readings.absence, "");
  EXPECT_EQ(readings.gpus.size(), 1u);
}

TEST_F(NvmlGpusTest, AMachineWithADriverAndNoGpuHasNone) {
  Describe("");
  const GpuReadings readings = Read();
  EXPECT_EQ(readings.absence, "");
  EXPECT_TRUE(readings.gpus.empty());
}

}  // namespace
}  // namespace muster::agent
