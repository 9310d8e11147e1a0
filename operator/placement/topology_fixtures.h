#ifndef MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_FIXTURES_H_
#define MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_FIXTURES_H_

#include <map>
#include <string>
#include <vector>

#include "operator/placement/topology_labels.h"

// Clusters of each source of topology labels, with the keys and value formats of its documentation.
namespace muster::control {

// Labels by node name, in the order of the fabric.
using Labels = std::map<std::string, std::string>;

struct Fixture {
  std::vector<std::string> names;
  std::map<std::string, Labels> labels;

  void Add(const std::string& name, Labels of);
  std::vector<LabelledNode> nodes() const;
};

// Amazon EKS, "Place distributed AI/ML workloads with network topology labels": 4 p5 nodes on two
// lowest switches (three layers), 2 nodes of a type with four layers.
Fixture AwsThreeAndFourLayers();
// Two P6e-GB200 UltraServers of three nodes.
Fixture AwsUltraServers();
// GKE: two blocks of two subblocks of two hosts, two nodes on the first host.
Fixture Google();
// "Using RDMA network locality on OKE": an island of two network blocks of two local blocks.
Fixture Oci();
// CoreWeave GB200: two NVL72 racks of 18 nodes, a leaf group each.
Fixture CoreWeaveNvl72();
// GPU feature discovery alone: two racks, one of them in two partitions, and a plain HGX node.
Fixture Cliques();
// topograph: a fat tree of two spines with two leaves of two nodes each, under one core.
Fixture Topograph10();
Fixture Topograph05();
Fixture Topograph01();
// knavigator's nwtopo-acc: two NVLink domains of six nodes, each over two leaves of three.
Fixture NvlinkOverTwoLeaves();
// Two zones of two nodes in a region.
Fixture PlainKubernetes();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_TOPOLOGY_FIXTURES_H_
