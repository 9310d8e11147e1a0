#include "agent/hardware/machine_reader.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

class MachineReaderTest : public testing::Test {
 protected:
  MachineReaderTest() {
    char folder[] = "/tmp/muster-sysfs-XXXXXX";
    root_ = ::mkdtemp(folder);
  }
  ~MachineReaderTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  // Links `path` to a device of the bus, as the kernel does.
  void Device(const std::string& path, const std::string& name, const std::string& numa_node) {
    const std::string device = "devices/pci0000:00/" + name;
    Write(device + "/numa_node", numa_node + "\n");
    fs::create_directories(root_ + "/" + path);
    fs::create_directory_symlink(root_ + "/" + device, root_ + "/" + path + "/device");
  }
  void InfinibandPort(const std::string& device, const std::string& pci) {
    const std::string path = "class/infiniband/" + device;
    Device(path, pci, "1");
    Write(path + "/node_guid", "0c42:A103:0065:bafe\n");
    Write(path + "/ports/1/state", "4: ACTIVE\n");
    Write(path + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    Write(path + "/ports/1/link_layer", "InfiniBand\n");
    Write(path + "/ports/1/counters/port_xmit_data", "1000\n");
    Write(path + "/ports/1/counters/port_rcv_data", "18446744073709551615\n");
    Write(path + "/ports/1/counters/link_downed", "2\n");
    Write(path + "/ports/1/counters/symbol_error", "N/A (no PMA)\n");
  }

  std::string root_;
};

TEST_F(MachineReaderTest, NumaNodesComeInTheOrderOfTheirNumbers) {
  for (const char* index : {"10", "2"}) {
    const std::string node = absl::StrCat("devices/system/node/node", index);
    Write(node + "/cpulist", "0-31,64-95\n");
    Write(node + "/meminfo", absl::StrCat("Node ", index, " MemTotal:       1024 kB\nNode ", index,
                                          " MemFree:    8 kB\n"));
  }
  Write("devices/system/node/possible", "0-1\n");
  Write("devices/system/node/nodule/cpulist", "7\n");
  const auto nodes = ReadNumaNodes(SysfsTree(root_));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].index, 2);
  EXPECT_EQ(nodes[0].cpus, "0-31,64-95");
  EXPECT_EQ(nodes[0].memory_bytes, 1 << 20);
  EXPECT_EQ(nodes[1].index, 10);
}

TEST_F(MachineReaderTest, OnlyNetworkCardsWithADeviceCount) {
  Device("class/net/eth0", "0000:3b:00.0", "1");
  Write("class/net/eth0/operstate", "up\n");
  Write("class/net/eth0/speed", "100000\n");
  Device("class/net/eth1", "virtio3", "-1");
  Write("class/net/eth1/operstate", "down\n");
  Write("class/net/eth1/speed", "-1\n");
  Write("class/net/lo/operstate", "unknown\n");
  const auto cards = ReadNetworkCards(SysfsTree(root_));
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].name, "eth0");
  EXPECT_EQ(cards[0].pci_address, "0000:3b:00.0");
  EXPECT_EQ(cards[0].numa_node, 1);
  EXPECT_EQ(cards[0].megabits_per_second, 100000);
  EXPECT_TRUE(cards[0].up);
  EXPECT_EQ(cards[1].pci_address, "");
  EXPECT_EQ(cards[1].numa_node, std::nullopt);
  EXPECT_EQ(cards[1].megabits_per_second, std::nullopt);
  EXPECT_FALSE(cards[1].up);
}

TEST_F(MachineReaderTest, AnInfinibandPortHasItsStateRateAndCounters) {
  InfinibandPort("mlx5_0", "0000:1b:00.0");
  const auto ports = ReadInfinibandPorts(SysfsTree(root_));
  ASSERT_EQ(ports.size(), 1u);
  const InfinibandReading& port = ports[0];
  EXPECT_EQ(port.device, "mlx5_0");
  EXPECT_EQ(port.port, 1);
  EXPECT_EQ(port.pci_address, "0000:1b:00.0");
  EXPECT_EQ(port.numa_node, 1);
  EXPECT_EQ(port.node_guid, "0c42a1030065bafe");
  EXPECT_EQ(port.state, "ACTIVE");
  EXPECT_EQ(port.gigabits_per_second, 400);
  EXPECT_EQ(port.counters.sent_bytes, 4000u);
  EXPECT_EQ(port.counters.received_bytes, std::nullopt) << "more words than bytes can be counted";
  EXPECT_EQ(port.counters.link_downs, 2u);
  EXPECT_EQ(port.counters.symbol_errors, std::nullopt);
  EXPECT_EQ(port.counters.send_discards, std::nullopt);
}

TEST_F(MachineReaderTest, OnlyDisksCount) {
  Device("block/nvme0n1", "nvme0", "0");
  Write("block/nvme0n1/size", "7814037168\n");
  Write("devices/pci0000:00/nvme0/model", "SAMSUNG MZQL23T8     \n");
  Write("devices/pci0000:00/nvme0/state", "live\n");
  Write("block/nvme0n1/queue/rotational", "0\n");
  Write("block/loop0/size", "8\n");
  Device("block/sr0", "1:0:0:0", "0");
  Write("block/sr0/size", "0\n");
  const auto disks = ReadDisks(SysfsTree(root_));
  ASSERT_EQ(disks.size(), 1u);
  EXPECT_EQ(disks[0].name, "nvme0n1");
  EXPECT_EQ(disks[0].model, "SAMSUNG MZQL23T8");
  EXPECT_EQ(disks[0].bytes, 4000787030016);
  EXPECT_FALSE(disks[0].rotational);
  EXPECT_EQ(disks[0].state, "live");
}

TEST_F(MachineReaderTest, ThePciBusKnowsNumaNodes) {
  Write("bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
  EXPECT_EQ(NumaNodeOfPci(SysfsTree(root_), "0000:1b:00.0"), 1);
  EXPECT_EQ(NumaNodeOfPci(SysfsTree(root_), "0000:1c:00.0"), std::nullopt);
  EXPECT_EQ(NumaNodeOfPci(SysfsTree(root_), "../../../etc"), std::nullopt);
}

TEST_F(MachineReaderTest, AMachineWithoutAnythingHasNothing) {
  const SysfsTree nothing(root_ + "/missing");
  EXPECT_TRUE(ReadNumaNodes(nothing).empty());
  EXPECT_TRUE(ReadNetworkCards(nothing).empty());
  EXPECT_TRUE(ReadInfinibandPorts(nothing).empty());
  EXPECT_TRUE(ReadDisks(nothing).empty());
}

// Whatever drivers write, a reading is made: every attribute in turn, with text at random.
TEST_F(MachineReaderTest, GarbageInAttributesNeverEndsTheAgent) {
  InfinibandPort("mlx5_0", "0000:1b:00.0");
  Device("class/net/eth0", "0000:3b:00.0", "1");
  Device("block/sda", "0:0:0:0", "0");
  const std::vector<std::string> attributes = {
      "class/infiniband/mlx5_0/node_guid",
      "class/infiniband/mlx5_0/ports/1/state",
      "class/infiniband/mlx5_0/ports/1/rate",
      "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
      "class/net/eth0/speed",
      "class/net/eth0/operstate",
      "block/sda/size",
      "devices/system/node/node0/meminfo",
      "devices/pci0000:00/0000:1b:00.0/numa_node"};
  std::mt19937 random(7);
  const std::string letters(
      "0123456789-+.:e \n\0\xff"
      "GbsecMTotalkB",
      31);
  const SysfsTree sys(root_);
  for (int i = 0; i < TestIterations({100, 500, 5000}); ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    Write(attributes[random() % attributes.size()], text);
    ReadNumaNodes(sys);
    ReadNetworkCards(sys);
    for (const InfinibandReading& port : ReadInfinibandPorts(sys)) {
      EXPECT_TRUE(port.gigabits_per_second >= 0);
      EXPECT_TRUE(port.node_guid.empty() || port.node_guid.size() == 16);
    }
    for (const DiskReading& disk : ReadDisks(sys)) EXPECT_GT(disk.bytes, 0);
  }
}

// The machine that runs this test is one, too: its own /sys can be read.
TEST(OwnMachineTest, HasNumaNodesOrNone) {
  for (const NumaReading& node : ReadNumaNodes(SysfsTree("/sys"))) {
    EXPECT_GE(node.index, 0);
    EXPECT_FALSE(node.cpus.empty() && node.memory_bytes == 0);
  }
}

TEST(KernelClockTest, ThisMachinesClockHasABoundOrCannotBeAsked) {
  const std::optional<ClockReading> clock = ReadKernelClock();
  if (!clock.has_value()) GTEST_SKIP() << "adjtimex is not allowed here";
  EXPECT_GE(clock->max_error_seconds, 0);
  // The kernel itself calls a clock unsynchronized whose error may be 16 s or more.
  if (clock->synchronized) EXPECT_LT(clock->max_error_seconds, 16);
}

}  // namespace
}  // namespace muster::agent
