#ifndef MUSTER_OPERATOR_KUBE_STORAGE_TYPES_H_
#define MUSTER_OPERATOR_KUBE_STORAGE_TYPES_H_

#include "operator/kube/resource_type.h"

// Resource types of volumes, and of the objects that determine which nodes can mount them.
// Constants with static storage.
namespace muster::kube {

inline constexpr ResourceType kVolumeClaims{
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, true};
inline constexpr ResourceType kVolumes{"",    "v1", "persistentvolumes", "PersistentVolume",
                                       false, true};
inline constexpr ResourceType kStorageClasses{"storage.k8s.io", "v1",  "storageclasses",
                                              "StorageClass",   false, false};
inline constexpr ResourceType kCsiNodes{"storage.k8s.io", "v1",  "csinodes",
                                        "CSINode",        false, false};
inline constexpr ResourceType kCsiDrivers{"storage.k8s.io", "v1",  "csidrivers",
                                          "CSIDriver",      false, false};
inline constexpr ResourceType kStorageCapacities{"storage.k8s.io",     "v1", "csistoragecapacities",
                                                 "CSIStorageCapacity", true, false};
inline constexpr ResourceType kVolumeAttachments{"storage.k8s.io",   "v1",  "volumeattachments",
                                                 "VolumeAttachment", false, true};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_STORAGE_TYPES_H_
