#ifndef MUSTER_OPERATOR_KUBE_OBSERVED_API_H_
#define MUSTER_OPERATOR_KUBE_OBSERVED_API_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

// Told about every list and every watch that ended. Called by the caller's thread: must be quick
// and thread-safe.
class WatchObserver {
 public:
  virtual ~WatchObserver() = default;
  // A list began from the start, its further pages not counted.
  virtual void Listed(std::string_view resource) = 0;
  virtual void WatchOpened(std::string_view resource) = 0;
  // `reason`: a Kubernetes status reason: WatchClosed, Expired, Timeout, ...; not told when the
  // watcher was stopped on this side.
  virtual void WatchEnded(std::string_view resource, std::string_view reason) = 0;
};

// An Api that tells what passes through it. Thread-safe if the observers are. Everything given must
// outlive it and its watchers.
class ObservedApi final : public Api {
 public:
  // `requests` may be null: where the client below reports requests itself.
  ObservedApi(Api& api, const Clock& clock, WatchObserver& watches, RequestObserver* requests)
      : api_(api), clock_(clock), watches_(watches), requests_(requests) {}

  absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                           const CallOptions& call = {}) override;
  absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                  const CallOptions& call = {}) override;
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                 const WatchOptions& options,
                                                 const CallOptions& call = {}) override;
  absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const CallOptions& call = {}) override;
  absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call = {}) override;
  absl::StatusOr<Json> PatchMetadata(const ResourceType& type, const ObjectKey& key,
                                     const Json& patch, const Preconditions& preconditions = {},
                                     const CallOptions& call = {}) override;
  absl::Status Delete(const ResourceType& type, const ObjectKey& key,
                      const DeleteOptions& options = {}, const CallOptions& call = {}) override;
  absl::Status Bind(const Binding& binding, const CallOptions& call = {}) override;

 private:
  template <typename Call>
  auto Timed(std::string_view verb, std::string_view resource, const Call& call) const;

  Api& api_;
  const Clock& clock_;
  WatchObserver& watches_;
  RequestObserver* const requests_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_OBSERVED_API_H_
