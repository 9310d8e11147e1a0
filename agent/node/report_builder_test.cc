#include "agent/node/report_builder.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

NodeReadings Readings() {
  NodeReadings readings;
  readings.gpus.driver_version = "550";
  GpuReading gpu;
  gpu.uuid = "GPU-a";
  gpu.product = "NVIDIA H100";
  gpu.pci_address = "0000:1b:00.0";
  gpu.numa_node = 1;
  gpu.memory_bytes = 80;
  gpu.utilization = 0.5;
  gpu.nvlinks = {{.link = 0, .active = true}, {.link = 1, .active = false}};
  readings.gpus.gpus = {gpu};
  InfinibandReading port;
  port.device = "mlx5_0";
  port.port = 1;
  port.node_guid = "0c42a1030065bafe";
  port.state = "ACTIVE";
  readings.infiniband_ports = {port};
  readings.fabric = {{{"0c42a1030065bafe", 1}, {"0000000000200000", "leaf-0"}}};
  return readings;
}

TEST(ReportBuilderTest, AReportHasHardwareFaultsAndSwitches) {
  NodeMemory memory;
  Count({{"GPU-a", 79}}, memory.xids);
  memory.machine.ports["mlx5_0:1"].many_errors = absl::FromUnixSeconds(900);
  memory.machine.failed_disks["sda"] = absl::FromUnixSeconds(900);
  NodeReadings readings = Readings();
  readings.at = absl::FromUnixSeconds(1000);
  readings.disks = {{.name = "sda", .model = "", .bytes = 1, .rotational = true, .state = "dead"}};
  const v1alpha1::NodeReport report = ReportOf(readings, memory);
  ASSERT_EQ(report.gpus_size(), 1);
  EXPECT_EQ(report.gpus(0).numa_node(), 1);
  EXPECT_EQ(report.gpus(0).nvlinks(), 2);
  EXPECT_EQ(report.gpus(0).nvlinks_active(), 1);
  ASSERT_EQ(report.gpus(0).faults_size(), 1);
  EXPECT_EQ(report.gpus(0).faults(0).reason(), "FatalXid");
  ASSERT_EQ(report.infiniband_ports_size(), 1);
  EXPECT_EQ(report.infiniband_ports(0).switch_guid(), "0000000000200000");
  EXPECT_EQ(report.infiniband_ports(0).switch_name(), "leaf-0");
  EXPECT_FALSE(report.infiniband_ports(0).has_numa_node());
  ASSERT_EQ(report.infiniband_ports(0).faults_size(), 1);
  EXPECT_EQ(report.infiniband_ports(0).faults(0).reason(), "SymbolErrors");
  ASSERT_EQ(report.disks_size(), 1);
  ASSERT_EQ(report.disks(0).faults_size(), 1);
  EXPECT_EQ(report.disks(0).faults(0).reason(), "DiskFailed");
}

TEST(ReportBuilderTest, ANoticeOfTheCloudIsToldWithItsDeadline) {
  NodeReadings readings = Readings();
  EXPECT_FALSE(ReportOf(readings, {}).has_notice());
  readings.notice = Notice{kRebalance, "AWS", std::nullopt, "rebalance \xff"};
  v1alpha1::NodeReport report = ReportOf(readings, {});
  EXPECT_EQ(report.notice().kind(), "Rebalance");
  EXPECT_EQ(report.notice().who(), "AWS");
  EXPECT_EQ(report.notice().text(), "rebalance ?");
  EXPECT_FALSE(report.notice().has_deadline_unix_ms());
  readings.notice->deadline = absl::FromUnixMillis(1'764'058'920'500);
  report = ReportOf(readings, {});
  EXPECT_EQ(report.notice().deadline_unix_ms(), 1'764'058'920'500);
}

TEST(ReportBuilderTest, ValuesThatChangeAllTheTimeMakeNoOtherReport) {
  const std::string before = ReportOf(Readings(), {}).SerializeAsString();
  NodeReadings later = Readings();
  later.gpus.gpus[0].utilization = 0.9;
  later.gpus.gpus[0].power_watts = 600;
  later.gpus.gpus[0].memory_used_bytes = 5;
  later.gpus.gpus[0].ecc_corrected = 1;
  later.infiniband_ports[0].counters.sent_bytes = 1000;
  EXPECT_EQ(ReportOf(later, {}).SerializeAsString(), before);
}

TEST(ReportBuilderTest, BytesThatAreNoTextAreMended) {
  NodeReadings readings = Readings();
  readings.gpus.gpus[0].product =
      "H\xff"
      "100 \xc3\xa9\xc3";
  EXPECT_EQ(ReportOf(readings, {}).gpus(0).product(), "H?100 \xc3\xa9?");
}

TEST(ReportBuilderTest, AnEndlessListIsCut) {
  NodeReadings readings;
  readings.disks.resize(100'000,
                        {.name = "sda", .model = "", .bytes = 1, .rotational = false, .state = ""});
  EXPECT_EQ(ReportOf(readings, {}).disks_size(), 512);
}

TEST(ReportBuilderTest, ANodeWithoutInfinibandHasNoFabricToMiss) {
  NodeReadings readings = Readings();
  readings.fabric_absence = "ibnetdiscover: no such file";
  EXPECT_EQ(ReportOf(readings, {}).fabric_absence(), "ibnetdiscover: no such file");
  readings.infiniband_ports.clear();
  EXPECT_EQ(ReportOf(readings, {}).fabric_absence(), "");
}

}  // namespace
}  // namespace muster::agent
