#include "tests/differential/load_cluster.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/storage.h"

namespace muster::control {

ClusterSnapshot LoadCluster(const Json& objects) {
  ClusterSnapshot snapshot;
  for (const Json& json : objects.at("pods")) {
    snapshot.AddPod(std::make_shared<SchedulingPod>(ParseSchedulingPod(json).value()));
  }
  for (const Json& json : objects.at("nodes")) {
    snapshot.SetNode(std::make_shared<SchedulingNode>(ParseSchedulingNode(json).value()));
  }
  for (const Json& json : objects.at("namespaces")) {
    const Json& meta = json.at("metadata");
    LabelMap labels;
    if (meta.contains("labels"))
      labels = meta.at("labels").get<std::map<std::string, std::string>>();
    snapshot.SetNamespace(meta.at("name").get<std::string>(), std::move(labels));
  }
  for (const Json& json : objects.at("claims")) snapshot.SetClaim(ParseVolumeClaim(json).value());
  for (const Json& json : objects.at("volumes")) snapshot.SetVolume(ParseVolume(json).value());
  for (const Json& json : objects.at("classes")) {
    snapshot.SetStorageClass(ParseStorageClass(json).value());
  }
  for (const Json& json : objects.at("csiNodes")) {
    snapshot.SetAttachLimits(ParseAttachLimits(json).value());
  }
  for (const Json& json : objects.at("attachments")) {
    snapshot.SetAttachment(ParseVolumeAttachment(json).value());
  }
  for (const Json& json : objects.at("drivers")) {
    snapshot.SetDriver(ParseStorageDriver(json).value());
  }
  for (const Json& json : objects.at("capacities")) {
    snapshot.SetCapacity(ParseStorageCapacity(json).value());
  }
  return snapshot;
}

}  // namespace muster::control
