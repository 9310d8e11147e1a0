#ifndef MUSTER_OPERATOR_APP_STORAGE_WATCH_H_
#define MUSTER_OPERATOR_APP_STORAGE_WATCH_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operator/kube/api.h"
#include "operator/kube/cache/cache.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/resource_type.h"
#include "operator/placement/cluster/cluster_snapshot.h"

namespace muster::control {

// Mirrors the objects that, besides nodes and pods, decide about nodes: namespaces' labels, volume
// claims and volumes, their classes, drivers and capacities, and the attach limits and attachments
// of nodes. A cluster without volumes has few of them. Each reflector is used by one thread.
class StorageWatch {
 public:
  // Receives each change, in the thread of its type's reflector.
  using Tell = std::function<void(std::function<void(ClusterSnapshot&)> change)>;
  using OptionsOf = std::function<kube::ReflectorOptions(const kube::ResourceType&)>;

  StorageWatch(kube::Api& api, const Clock& clock, const OptionsOf& options, Tell tell);
  StorageWatch(const StorageWatch&) = delete;
  StorageWatch& operator=(const StorageWatch&) = delete;

  std::vector<kube::Reflector*> reflectors() const;
  bool HasSynced() const;

 private:
  struct Mirror {
    virtual ~Mirror() = default;
    virtual bool HasSynced() const = 0;
    std::unique_ptr<kube::Reflector> reflector;
  };
  template <typename T>
  struct MirrorOf;
  template <typename T, typename Parse, typename Set, typename Remove>
  void Add(const kube::ResourceType& type, Parse parse, Set set, Remove remove);

  kube::Api& api_;
  const Clock& clock_;
  const OptionsOf options_;
  const Tell tell_;
  std::vector<std::unique_ptr<Mirror>> mirrors_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_STORAGE_WATCH_H_
