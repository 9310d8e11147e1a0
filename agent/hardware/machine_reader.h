#ifndef MUSTER_AGENT_HARDWARE_MACHINE_READER_H_
#define MUSTER_AGENT_HARDWARE_MACHINE_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "agent/hardware/reading.h"
#include "agent/hardware/sysfs_tree.h"

// Reads a machine's hardware, except GPUs: all but the clock from sysfs. Each function returns what
// it finds, in the order of names; what it cannot read is left out. Blocking calls of some
// microseconds per file.
namespace muster::agent {

std::vector<NumaReading> ReadNumaNodes(const SysfsTree& sys);
// Physical cards only: an interface without a device, such as lo or a bridge, is left out.
std::vector<NetworkCardReading> ReadNetworkCards(const SysfsTree& sys);
// The ports of InfiniBand and RoCE adapters.
std::vector<InfinibandReading> ReadInfinibandPorts(const SysfsTree& sys);
// Disks only: no partitions, loop devices or volumes that the kernel composes of others.
std::vector<DiskReading> ReadDisks(const SysfsTree& sys);
// Returns the NUMA node of a PCI device; nullopt if the machine has none, or does not tell.
std::optional<int> NumaNodeOfPci(const SysfsTree& sys, const std::string& pci_address);

// Asks the kernel how well its clock is set, which needs no rights. Returns nullopt where the call
// is not allowed, as in some sandboxes.
std::optional<ClockReading> ReadKernelClock();

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_MACHINE_READER_H_
