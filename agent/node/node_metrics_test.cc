#include "agent/node/node_metrics.h"

#include <string>

#include "agent/node/node_metric_catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

NodeReadings Full() {
  NodeReadings readings;
  readings.gpus.driver_version = "550";
  GpuReading gpu;
  gpu.index = 3;
  gpu.uuid = "GPU-a";
  gpu.product = "NVIDIA \"H100\"";
  gpu.pci_address = "0000:1b:00.0";
  gpu.memory_bytes = 1024;
  gpu.memory_used_bytes = 512;
  gpu.utilization = 0.25;
  gpu.power_watts = 412.5;
  gpu.power_limit_watts = 700;
  gpu.energy_joules = 5;
  gpu.temperature_celsius = 61;
  gpu.ecc_corrected = 3;
  gpu.ecc_uncorrected = 0;
  gpu.rows_remapped = 1;
  gpu.nvlinks = {{0, true, 1, 2, 0}, {1, true, 4, 0, 0}, {2, false}};
  gpu.nvlink_sent_bytes = 7168;
  gpu.nvlink_received_bytes = 8192;
  readings.gpus.gpus = {gpu};
  InfinibandReading port;
  port.device = "mlx5_0";
  port.port = 1;
  port.state = "ACTIVE";
  port.gigabits_per_second = 400;
  port.counters = {1, 2, 3, 4, 5, 6, 7, 8};
  readings.infiniband_ports = {port};
  NetworkCardReading card;
  card.name = "eth0";
  card.up = true;
  readings.network_cards = {card};
  readings.disks = {
      {.name = "nvme0n1", .model = "", .bytes = 1, .rotational = false, .state = "dead"}};
  readings.clock = ClockReading{.synchronized = true, .max_error_seconds = 0.25};
  readings.at = absl::FromUnixSeconds(1000);
  return readings;
}

TEST(NodeMetricsTest, EveryMetricOfTheCatalogueHasASeries) {
  NodeMemory memory;
  Count({{"GPU-a", 79}}, memory.xids);
  memory.machine.failed_disks["nvme0n1"] = absl::FromUnixSeconds(900);
  const std::string page = MetricsPage(Full(), memory, {true, 4, 0.01, 1.5, 30e6});
  for (int i = 0; i < static_cast<int>(NodeMetric::kCount); ++i) {
    const NodeMetricSpec& spec = SpecOf(static_cast<NodeMetric>(i));
    const std::string series = "\n" + spec.name + (spec.labels.empty() ? " " : "{");
    EXPECT_THAT(page, HasSubstr(series)) << spec.name;
  }
  EXPECT_THAT(page, HasSubstr("muster_node_gpu_info{gpu=\"3\",uuid=\"GPU-a\",product=\"NVIDIA "
                              "\\\"H100\\\"\",pci=\"0000:1b:00.0\",driver=\"550\"} 1"));
  EXPECT_THAT(page, HasSubstr("muster_node_gpu_healthy{gpu=\"3\",uuid=\"GPU-a\"} 0"));
  EXPECT_THAT(page,
              HasSubstr("muster_node_gpu_xid_errors_total{gpu=\"3\",uuid=\"GPU-a\",xid=\"79\"} 1"));
  EXPECT_THAT(page,
              HasSubstr("muster_node_nvlinks{gpu=\"3\",uuid=\"GPU-a\",state=\"inactive\"} 1"));
  EXPECT_THAT(
      page, HasSubstr("muster_node_nvlink_errors_total{gpu=\"3\",uuid=\"GPU-a\",kind=\"crc\"} 5"));
  EXPECT_THAT(page, HasSubstr("muster_node_infiniband_rate_bytes_per_second{device=\"mlx5_0\",port="
                              "\"1\"} 50000000000"));
  EXPECT_THAT(page, HasSubstr("muster_node_infiniband_healthy{device=\"mlx5_0\",port=\"1\"} 1"));
  EXPECT_THAT(page, HasSubstr("muster_node_disk_healthy{device=\"nvme0n1\"} 0"));
  EXPECT_THAT(page, HasSubstr("muster_node_clock_max_error_seconds 0.25"));
  EXPECT_THAT(page, HasSubstr("muster_node_agent_connected 1"));
}

TEST(NodeMetricsTest, AValueThatIsAbsentHasNoSeries) {
  NodeReadings readings;
  GpuReading gpu;
  gpu.uuid = "GPU-a";
  readings.gpus.gpus = {gpu};
  const std::string page = MetricsPage(readings, {}, {});
  EXPECT_THAT(page, HasSubstr("\nmuster_node_gpu_healthy{"));
  EXPECT_THAT(page, Not(HasSubstr("\nmuster_node_gpu_power_watts{")));
  EXPECT_THAT(page, Not(HasSubstr("\nmuster_node_nvlinks{")));
  EXPECT_THAT(page, Not(HasSubstr("\nmuster_node_infiniband_up{")));
}

TEST(NodeMetricsTest, ANodeWithoutAnythingHasAPage) {
  EXPECT_THAT(MetricsPage({}, {}, {}), HasSubstr("\nmuster_node_gpus 0"));
}

}  // namespace
}  // namespace muster::agent
