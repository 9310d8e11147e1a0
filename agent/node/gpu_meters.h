#ifndef MUSTER_AGENT_NODE_GPU_METERS_H_
#define MUSTER_AGENT_NODE_GPU_METERS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/hardware/reading.h"

namespace muster::agent {

// Meters that turn the readings of a node's GPUs into the means that the operator gets for all of
// them together. Pure, not thread-safe.

// Measures the mean draw of a node's GPUs from readings that follow one another: by the GPUs'
// energy counters, and for a GPU without one by its power at the end of each interval. Times are
// monotonic.
class GpuPowerMeter {
 public:
  void Observe(const GpuReadings& readings, absl::Time now);

  // Returns the mean in watts of all GPUs together over the intervals since the last call, or
  // nothing if no interval was measured. An interval counts if every GPU was measured in it, save
  // those that the driver has lost.
  std::optional<double> TakeMean();

 private:
  std::optional<double> JoulesOf(const GpuReading& gpu, double seconds) const;

  absl::Time last_ = absl::InfinitePast();
  std::map<std::string, double> counters_;  // joules at `last_`, by UUID
  double joules_ = 0;
  double seconds_ = 0;
};

// Measures how much a node's GPUs are used, by the utilization that their driver samples.
class GpuUseMeter {
 public:
  void Observe(const GpuReadings& readings);

  // Returns the mean use, 0 to 1, of all GPUs in the readings since the last call, or nothing if no
  // reading counts. A reading counts if it has the use of every GPU that the driver has not lost.
  std::optional<double> TakeMean();

 private:
  double sum_ = 0;
  int readings_ = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_GPU_METERS_H_
