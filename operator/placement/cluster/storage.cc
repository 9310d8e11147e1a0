#include "operator/placement/cluster/storage.h"

#include <utility>

#include "base/json_fields.h"

namespace muster::control {
namespace {

constexpr char kBetaClass[] = "volume.beta.kubernetes.io/storage-class";

absl::Status NoName(const char* kind) {
  return absl::InvalidArgumentError(std::string(kind) + " without a name");
}

std::optional<Quantity> ReadQuantity(const Json& object, const char* name) {
  const Json* field = FindField(object, {name});
  if (field == nullptr) return std::nullopt;
  const auto amount =
      Quantity::Parse(field->is_string() ? field->get<std::string>() : field->dump());
  return amount.ok() ? std::optional(*amount) : std::nullopt;
}

// The annotation is older than the field and takes precedence.
std::string ClassOf(const LabelMap& annotations, const Json& spec) {
  const auto beta = annotations.find(kBetaClass);
  return beta != annotations.end() ? std::string(beta->second)
                                   : StringField(spec, "storageClassName");
}

std::string VolumeMode(const Json& spec) {
  const std::string mode = StringField(spec, "volumeMode");
  return mode.empty() ? "Filesystem" : mode;
}

std::string ControllerUid(const Json& meta) {
  for (const Json& owner : ArrayField(meta, "ownerReferences")) {
    if (BoolField(owner, "controller")) return StringField(owner, "uid");
  }
  return "";
}

}  // namespace

absl::StatusOr<VolumeClaim> ParseVolumeClaim(const Json& json) {
  const Json& meta = ObjectField(json, "metadata");
  const Json& spec = ObjectField(json, "spec");
  const LabelMap annotations = LabelField(meta, "annotations");
  VolumeClaim claim;
  claim.name = StringField(meta, "name");
  if (claim.name.empty()) return NoName("a volume claim");
  claim.ns = StringField(meta, "namespace");
  claim.uid = StringField(meta, "uid");
  claim.owner_uid = ControllerUid(meta);
  claim.volume = StringField(spec, "volumeName");
  claim.bind_completed = annotations.count("pv.kubernetes.io/bind-completed") > 0;
  claim.lost = StringField(ObjectField(json, "status"), "phase") == "Lost";
  claim.terminating = !StringField(meta, "deletionTimestamp").empty();
  claim.storage_class = ClassOf(annotations, spec);
  const auto node = annotations.find("volume.kubernetes.io/selected-node");
  if (node != annotations.end()) claim.selected_node = node->second;
  claim.access_modes = StringsField(spec, "accessModes");
  claim.selector = ParseLabelSelector(FindField(spec, {"selector"}));
  const Json& resources = ObjectField(spec, "resources");
  claim.requested = ReadQuantity(ObjectField(resources, "requests"), "storage");
  claim.volume_mode = VolumeMode(spec);
  claim.attributes_class = StringField(spec, "volumeAttributesClassName");
  return claim;
}

absl::StatusOr<Volume> ParseVolume(const Json& json) {
  const Json& meta = ObjectField(json, "metadata");
  const Json& spec = ObjectField(json, "spec");
  Volume volume;
  volume.name = StringField(meta, "name");
  if (volume.name.empty()) return NoName("a volume");
  volume.labels = LabelField(meta, "labels");
  const Json* required = FindField(spec, {"nodeAffinity", "required"});
  if (required != nullptr && required->is_object()) {
    volume.node_affinity = ParseNodeSelectorTerms(*required);
  }
  const Json& csi = ObjectField(spec, "csi");
  volume.csi_driver = StringField(csi, "driver");
  volume.csi_handle = StringField(csi, "volumeHandle");
  volume.storage_class = ClassOf(LabelField(meta, "annotations"), spec);
  volume.access_modes = StringsField(spec, "accessModes");
  volume.capacity = ReadQuantity(ObjectField(spec, "capacity"), "storage").value_or(Quantity());
  volume.volume_mode = VolumeMode(spec);
  volume.attributes_class = StringField(spec, "volumeAttributesClassName");
  volume.available = StringField(ObjectField(json, "status"), "phase") == "Available";
  volume.terminating = !StringField(meta, "deletionTimestamp").empty();
  const Json& claim = ObjectField(spec, "claimRef");
  volume.claim_ns = StringField(claim, "namespace");
  volume.claim_name = StringField(claim, "name");
  volume.claim_uid = StringField(claim, "uid");
  return volume;
}

absl::StatusOr<StorageClass> ParseStorageClass(const Json& json) {
  StorageClass storage_class;
  storage_class.name = StringField(ObjectField(json, "metadata"), "name");
  if (storage_class.name.empty()) return NoName("a storage class");
  storage_class.provisioner = StringField(json, "provisioner");
  const std::string mode = StringField(json, "volumeBindingMode");
  if (mode == "WaitForFirstConsumer") {
    storage_class.binding = BindingMode::kWaitForFirstConsumer;
  } else if (!mode.empty()) {
    storage_class.binding = BindingMode::kImmediate;
  }
  for (const Json& item : ArrayField(json, "allowedTopologies")) {
    storage_class.restricts_topology = true;
    std::vector<LabelRequirement> term;
    bool valid = true;
    for (const Json& one : ArrayField(item, "matchLabelExpressions")) {
      term.push_back({StringField(one, "key"), SelectorOperator::kIn, StringsField(one, "values")});
      valid = valid && term.back().IsValid();
    }
    if (valid && !term.empty()) storage_class.topologies.push_back(std::move(term));
  }
  return storage_class;
}

absl::StatusOr<AttachLimits> ParseAttachLimits(const Json& json) {
  AttachLimits limits;
  limits.node = StringField(ObjectField(json, "metadata"), "name");
  if (limits.node.empty()) return NoName("a CSINode");
  for (const Json& driver : ArrayField(ObjectField(json, "spec"), "drivers")) {
    const auto count = IntegerField(ObjectField(driver, "allocatable"), "count");
    if (count) limits.by_driver[StringField(driver, "name")] = *count;
  }
  return limits;
}

absl::StatusOr<VolumeAttachment> ParseVolumeAttachment(const Json& json) {
  const Json& spec = ObjectField(json, "spec");
  VolumeAttachment attachment;
  attachment.name = StringField(ObjectField(json, "metadata"), "name");
  if (attachment.name.empty()) return NoName("a volume attachment");
  attachment.node = StringField(spec, "nodeName");
  attachment.attacher = StringField(spec, "attacher");
  attachment.volume = StringField(ObjectField(spec, "source"), "persistentVolumeName");
  return attachment;
}

absl::StatusOr<StorageDriver> ParseStorageDriver(const Json& json) {
  StorageDriver driver;
  driver.name = StringField(ObjectField(json, "metadata"), "name");
  if (driver.name.empty()) return NoName("a CSIDriver");
  driver.counts_capacity = BoolField(ObjectField(json, "spec"), "storageCapacity");
  return driver;
}

absl::StatusOr<StorageCapacity> ParseStorageCapacity(const Json& json) {
  const Json& meta = ObjectField(json, "metadata");
  StorageCapacity capacity;
  capacity.name = StringField(meta, "name");
  if (capacity.name.empty()) return NoName("a storage capacity");
  capacity.ns = StringField(meta, "namespace");
  capacity.storage_class = StringField(json, "storageClassName");
  auto largest = ReadQuantity(json, "maximumVolumeSize");
  if (!largest) largest = ReadQuantity(json, "capacity");
  if (largest) capacity.largest_volume = largest->Value();
  capacity.nodes = ParseLabelSelector(FindField(json, {"nodeTopology"}));
  return capacity;
}

}  // namespace muster::control
