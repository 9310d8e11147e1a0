#include "operator/reconcile/view/node_domains.h"

#include <cstddef>
#include <map>
#include <string>

namespace muster::control {

void NoteDomains(const std::vector<LabelledNode>& nodes, std::vector<PodView>& pods) {
  const Topology topology = ReadTopology(nodes);
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < nodes.size(); ++i) places[nodes[i].name] = i;
  for (PodView& pod : pods) {
    const auto place = places.find(pod.node);
    if (place != places.end()) pod.node_domains = topology.paths[place->second];
  }
}

}  // namespace muster::control
