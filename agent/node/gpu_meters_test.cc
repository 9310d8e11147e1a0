#include "agent/node/gpu_meters.h"

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

GpuReading Gpu(const std::string& uuid, std::optional<double> joules,
               std::optional<double> watts = std::nullopt) {
  GpuReading gpu;
  gpu.uuid = uuid;
  gpu.energy_joules = joules;
  gpu.power_watts = watts;
  return gpu;
}

class GpuPowerTest : public testing::Test {
 protected:
  void Observe(std::vector<GpuReading> gpus) {
    GpuReadings readings;
    readings.gpus = std::move(gpus);
    meter_.Observe(readings, now_);
    now_ += absl::Seconds(10);
  }

  absl::Time now_ = absl::UnixEpoch();
  GpuPowerMeter meter_;
};

TEST_F(GpuPowerTest, TheMeanIsThatOfTheEnergyCounters) {
  Observe({Gpu("a", 1000), Gpu("b", 50)});
  EXPECT_EQ(meter_.TakeMean(), std::nullopt) << "one reading is no interval";
  Observe({Gpu("a", 4000), Gpu("b", 1050)});
  Observe({Gpu("a", 4000), Gpu("b", 2050)});
  EXPECT_EQ(meter_.TakeMean(), 250);
  EXPECT_EQ(meter_.TakeMean(), std::nullopt);
  Observe({Gpu("a", 4500), Gpu("b", 2050)});
  EXPECT_EQ(meter_.TakeMean(), 50);
}

TEST_F(GpuPowerTest, AGpuWithoutACounterIsMeasuredByItsPower) {
  Observe({Gpu("a", 0), Gpu("b", {}, 100)});
  Observe({Gpu("a", 3000), Gpu("b", {}, 400)});
  Observe({Gpu("a", 6000), Gpu("b", {}, 500)});
  EXPECT_EQ(meter_.TakeMean(), 750);
}

TEST_F(GpuPowerTest, ACounterThatFellIsReplacedByThePower) {
  Observe({Gpu("a", 9000, 300)});
  Observe({Gpu("a", 10, 320)});
  EXPECT_EQ(meter_.TakeMean(), 320);
  Observe({Gpu("a", 20)});
  EXPECT_EQ(meter_.TakeMean(), 1);
}

TEST_F(GpuPowerTest, AnIntervalInWhichAGpuIsNotMeasuredDoesNotCount) {
  Observe({Gpu("a", 0), Gpu("b", 0)});
  Observe({Gpu("a", 1000), Gpu("b", 1000)});
  Observe({Gpu("a", 9000), Gpu("b", {})});
  EXPECT_EQ(meter_.TakeMean(), 200);
  Observe({});
  EXPECT_EQ(meter_.TakeMean(), std::nullopt) << "no GPU";
}

TEST_F(GpuPowerTest, ALostGpuDrawsNothing) {
  Observe({Gpu("a", 0), Gpu("b", 0)});
  GpuReading lost = Gpu("b", {});
  lost.lost = true;
  Observe({Gpu("a", 1000), lost});
  EXPECT_EQ(meter_.TakeMean(), 100);
}

GpuReadings Used(std::vector<std::optional<double>> gpus) {
  GpuReadings readings;
  for (const std::optional<double>& use : gpus) {
    readings.gpus.emplace_back().utilization = use;
  }
  return readings;
}

TEST(GpuUseTest, TheMeanIsOverAllGpusAndReadingsSinceTheLastOne) {
  GpuUseMeter meter;
  EXPECT_EQ(meter.TakeMean(), std::nullopt);
  meter.Observe(Used({1.0, 0.0}));
  meter.Observe(Used({1.0, 0.5}));
  EXPECT_EQ(meter.TakeMean(), 0.625);
  EXPECT_EQ(meter.TakeMean(), std::nullopt);
}

TEST(GpuUseTest, AGpuWhoseUseIsNotKnownIsNotTakenForIdle) {
  GpuUseMeter meter;
  meter.Observe(Used({1.0, std::nullopt}));
  meter.Observe(Used({}));
  EXPECT_EQ(meter.TakeMean(), std::nullopt);
  GpuReadings readings = Used({1.0, std::nullopt});
  readings.gpus[1].lost = true;
  meter.Observe(readings);
  EXPECT_EQ(meter.TakeMean(), 1.0) << "the driver has lost the other one";
}

}  // namespace
}  // namespace muster::agent
