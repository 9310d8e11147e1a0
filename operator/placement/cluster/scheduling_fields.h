#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_FIELDS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_FIELDS_H_

#include <string_view>

// The fields that ParseSchedulingPod and ParseSchedulingNode read, as paths for a field mask. If an
// empty object differs in meaning from none at all (an empty label selector selects everything),
// the path is that of the enclosing object, which must come complete.
namespace muster::control {

inline constexpr std::string_view kSchedulingPodFields[] = {
    "metadata.labels",
    "metadata.deletionTimestamp",
    "spec.affinity",
    "spec.containers.name",
    "spec.containers.ports",
    "spec.containers.resources",
    "spec.hostNetwork",
    "spec.initContainers.name",
    "spec.initContainers.ports",
    "spec.initContainers.resources",
    "spec.initContainers.restartPolicy",
    "spec.nodeName",
    "spec.nodeSelector",
    "spec.overhead",
    "spec.priority",
    "spec.resourceClaims",
    "spec.resources",
    "spec.schedulerName",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "spec.volumes.awsElasticBlockStore.volumeID",
    "spec.volumes.ephemeral.volumeClaimTemplate.spec.accessModes",
    "spec.volumes.gcePersistentDisk.pdName",
    "spec.volumes.gcePersistentDisk.readOnly",
    "spec.volumes.iscsi.iqn",
    "spec.volumes.iscsi.readOnly",
    "spec.volumes.name",
    "spec.volumes.persistentVolumeClaim.claimName",
    "spec.volumes.rbd.image",
    "spec.volumes.rbd.monitors",
    "spec.volumes.rbd.pool",
    "spec.volumes.rbd.readOnly",
    "status.conditions.reason",
    "status.conditions.type",
    "status.containerStatuses.allocatedResources",
    "status.containerStatuses.name",
    "status.containerStatuses.resources",
    "status.initContainerStatuses.allocatedResources",
    "status.initContainerStatuses.name",
    "status.initContainerStatuses.resources",
    "status.nominatedNodeName",
    "status.phase",
};

inline constexpr std::string_view kSchedulingNodeFields[] = {
    "metadata.labels",          "spec.taints",
    "spec.unschedulable",       "status.allocatable",
    "status.capacity",          "status.conditions.reason",
    "status.conditions.status", "status.conditions.type",
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_FIELDS_H_
