#include "agent/node/gpu_meters.h"

#include <utility>

namespace muster::agent {

// A counter that fell has been reset with its driver.
std::optional<double> GpuPowerMeter::JoulesOf(const GpuReading& gpu, double seconds) const {
  const auto before = counters_.find(gpu.uuid);
  if (gpu.energy_joules && before != counters_.end() && *gpu.energy_joules >= before->second) {
    return *gpu.energy_joules - before->second;
  }
  if (gpu.power_watts) return *gpu.power_watts * seconds;
  return std::nullopt;
}

void GpuPowerMeter::Observe(const GpuReadings& readings, absl::Time now) {
  const double seconds = absl::ToDoubleSeconds(now - last_);
  const bool first = last_ == absl::InfinitePast();
  double joules = 0;
  bool measured = false;
  bool whole = true;
  std::map<std::string, double> counters;
  for (const GpuReading& gpu : readings.gpus) {
    if (gpu.lost) continue;
    if (gpu.energy_joules) counters[gpu.uuid] = *gpu.energy_joules;
    const std::optional<double> own = first ? std::nullopt : JoulesOf(gpu, seconds);
    measured |= own.has_value();
    whole &= own.has_value();
    joules += own.value_or(0);
  }
  counters_ = std::move(counters);
  last_ = now;
  if (!measured || !whole || !(seconds > 0)) return;
  joules_ += joules;
  seconds_ += seconds;
}

std::optional<double> GpuPowerMeter::TakeMean() {
  if (!(seconds_ > 0)) return std::nullopt;
  return std::exchange(joules_, 0) / std::exchange(seconds_, 0);
}

void GpuUseMeter::Observe(const GpuReadings& readings) {
  double sum = 0;
  int gpus = 0;
  for (const GpuReading& gpu : readings.gpus) {
    if (gpu.lost) continue;
    if (!gpu.utilization) return;
    sum += *gpu.utilization;
    ++gpus;
  }
  if (gpus == 0) return;
  sum_ += sum / gpus;
  ++readings_;
}

std::optional<double> GpuUseMeter::TakeMean() {
  if (readings_ == 0) return std::nullopt;
  return std::exchange(sum_, 0) / std::exchange(readings_, 0);
}

}  // namespace muster::agent
