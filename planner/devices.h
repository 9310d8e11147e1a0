#ifndef MUSTER_PLANNER_DEVICES_H_
#define MUSTER_PLANNER_DEVICES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "planner/memory.h"

namespace muster::planner {

// The devices that a plan can be made for, as data. Pure, thread-safe.

// One accelerator, or one CPU, and the links that it has in the machine that it is usually sold in.
// The rates of arithmetic and memory are the makers' for dense numbers; an Engine says what
// fraction of them a program reaches.
struct Device {
  absl::string_view name;
  // A part of the name that its driver or a node's label gives, such as "A100-SXM4-80GB".
  absl::string_view product;
  // Multiplications and additions a second that matrix products can do, by format. 0: the device
  // has no such units.
  double fp64 = 0, fp32 = 0, bf16 = 0, fp8 = 0;
  int64_t memory_bytes = 0;
  double memory_bandwidth = 0;  // bytes/s
  // The number of devices in one machine, where links join each of them to all others.
  int32_t joined = 1;
  // The bus bandwidth in bytes/s of a large all-reduce among them, as nccl-tests defines it.
  double link_bandwidth = 0;
  // The least seconds that an all-reduce takes: for the call, and for each rank after the first.
  double link_start = 0, link_hop = 0;
  // The bytes/s that each device's share of the machine's network carries in one direction.
  double network_bandwidth = 0;
  // The least seconds that a message to another machine takes.
  double network_start = 0;
  // The bytes/s that a local disk reads and writes, for state that rests in files.
  double disk_bandwidth = 0;
  bool is_cpu = false;

  // Returns the operations a second of matrix products in a format; 0 if there are no units for it.
  double Rate(Precision precision) const;
};

// Returns all devices, the oldest first.
const std::vector<Device>& Devices();
// Returns the device that has this name, or else the one whose `product` occurs in it, both with
// case ignored; null if there is no such device.
const Device* FindDevice(absl::string_view name);

// How the devices of a cluster are wired, beyond what a Device says. All numbers are at least 1.
struct Wiring {
  // The number of devices that links join, within a machine or a rack.
  int32_t joined = 1;
  // The number of devices in a machine.
  int32_t machine = 1;
  // The number of devices below one leaf switch.
  int64_t leaf = int64_t{1} << 40;
  // The bandwidth below a leaf divided by that from leaf to leaf.
  double oversubscription = 1;
};

// Returns the share that each rank has when `ranks` ranks use one machine without accelerators: its
// part of the arithmetic, the memory and its bandwidth, the network and the disk. Requires
// device.is_cpu and ranks >= 1.
Device ShareOfMachine(Device device, int32_t ranks);

// Returns the wiring of a cluster of such machines that share one leaf switch, or whose network has
// no bottleneck.
Wiring WiringOf(const Device& device);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_DEVICES_H_
