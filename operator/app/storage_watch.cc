#include "operator/app/storage_watch.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/logging.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/storage_types.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/label_map.h"

namespace muster::control {
namespace {

void LogParseError(const kube::ObjectKey& key, const absl::Status& status) {
  MUSTER_LOG(WARN, "object ignored", {"object", kube::ToString(key)}, {"error", status});
}

absl::StatusOr<LabelMap> ParseNamespace(const Json& json) { return LabelMap(kube::LabelsOf(json)); }

}  // namespace

template <typename T>
struct StorageWatch::MirrorOf : Mirror {
  template <typename Parse>
  explicit MirrorOf(Parse parse) : cache(parse, {{}, LogParseError}) {}
  bool HasSynced() const override { return cache.HasSynced(); }
  kube::Cache<T> cache;
};

template <typename T, typename Parse, typename Set, typename Remove>
void StorageWatch::Add(const kube::ResourceType& type, Parse parse, Set set, Remove remove) {
  auto mirror = std::make_unique<MirrorOf<T>>(parse);
  mirror->cache.OnChange([this, set, remove](const kube::ObjectKey& key, const auto&,
                                             const std::shared_ptr<const T>& after) {
    tell_([set, remove, key, after](ClusterSnapshot& snapshot) {
      after == nullptr ? remove(snapshot, key) : set(snapshot, key, *after);
    });
  });
  mirror->reflector =
      std::make_unique<kube::Reflector>(api_, type, options_(type), mirror->cache, clock_);
  mirrors_.push_back(std::move(mirror));
}

StorageWatch::StorageWatch(kube::Api& api, const Clock& clock, const OptionsOf& options, Tell tell)
    : api_(api), clock_(clock), options_(options), tell_(std::move(tell)) {
  using Key = kube::ObjectKey;
  using Snapshot = ClusterSnapshot;
  Add<LabelMap>(
      kube::kNamespaces, ParseNamespace,
      [](Snapshot& to, const Key& key, const auto& labels) { to.SetNamespace(key.name, labels); },
      [](Snapshot& to, const Key& key) { to.RemoveNamespace(key.name); });
  Add<VolumeClaim>(
      kube::kVolumeClaims, ParseVolumeClaim,
      [](Snapshot& to, const Key&, const auto& claim) { to.SetClaim(claim); },
      [](Snapshot& to, const Key& key) { to.RemoveClaim(key.name_space, key.name); });
  Add<Volume>(
      kube::kVolumes, ParseVolume,
      [](Snapshot& to, const Key&, const auto& volume) { to.SetVolume(volume); },
      [](Snapshot& to, const Key& key) { to.RemoveVolume(key.name); });
  Add<StorageClass>(
      kube::kStorageClasses, ParseStorageClass,
      [](Snapshot& to, const Key&, const auto& one) { to.SetStorageClass(one); },
      [](Snapshot& to, const Key& key) { to.RemoveStorageClass(key.name); });
  Add<AttachLimits>(
      kube::kCsiNodes, ParseAttachLimits,
      [](Snapshot& to, const Key&, const auto& limits) { to.SetAttachLimits(limits); },
      [](Snapshot& to, const Key& key) { to.RemoveAttachLimits(key.name); });
  Add<VolumeAttachment>(
      kube::kVolumeAttachments, ParseVolumeAttachment,
      [](Snapshot& to, const Key&, const auto& one) { to.SetAttachment(one); },
      [](Snapshot& to, const Key& key) { to.RemoveAttachment(key.name); });
  Add<StorageDriver>(
      kube::kCsiDrivers, ParseStorageDriver,
      [](Snapshot& to, const Key&, const auto& driver) { to.SetDriver(driver); },
      [](Snapshot& to, const Key& key) { to.RemoveDriver(key.name); });
  Add<StorageCapacity>(
      kube::kStorageCapacities, ParseStorageCapacity,
      [](Snapshot& to, const Key&, const auto& one) { to.SetCapacity(one); },
      [](Snapshot& to, const Key& key) { to.RemoveCapacity(key.name_space, key.name); });
}

std::vector<kube::Reflector*> StorageWatch::reflectors() const {
  std::vector<kube::Reflector*> all;
  for (const auto& mirror : mirrors_) all.push_back(mirror->reflector.get());
  return all;
}

bool StorageWatch::HasSynced() const {
  return std::all_of(mirrors_.begin(), mirrors_.end(),
                     [](const auto& mirror) { return mirror->HasSynced(); });
}

}  // namespace muster::control
