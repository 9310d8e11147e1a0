#ifndef MUSTER_AGENT_HARDWARE_LINK_ORDER_H_
#define MUSTER_AGENT_HARDWARE_LINK_ORDER_H_

#include <cstddef>
#include <vector>

namespace muster::agent {

// Chooses `count` of the devices with these distances (GpuDevices), at most as many as there are,
// and orders them so that neighbours are near to each other: ranks talk most with the next rank,
// the last with the first. The devices are visited from each as the first, always going to the
// nearest that is left, the first one of several; the shortest ring wins. Pure.
std::vector<size_t> OrderByLinks(const std::vector<std::vector<int>>& distances, size_t count);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_LINK_ORDER_H_
