#ifndef MUSTER_OPERATOR_KUBE_FENCED_API_H_
#define MUSTER_OPERATOR_KUBE_FENCED_API_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/kube/api.h"

namespace muster::kube {

// True for the error of a write that FencedApi did not let through: nothing was sent, and nothing
// may be tried again by this process.
bool IsFenced(const absl::Status& status);
absl::Status FencedError(const absl::Status& why);

// The Api of a leader: asks `may_write` before every write, and bounds every call but lists and
// watches by `longest_call`. With longest_call <= leaseDuration - renewDeadline and a `may_write`
// that holds until renewDeadline after the last renewal, a write that was let through has ended
// before another process can hold the lease; one that was delayed all the same (a stopped process,
// a stuck connection) still meets the server's own checks. Thread-safe if `may_write` is.
class FencedApi final : public Api {
 public:
  using MayWrite = std::function<absl::Status()>;

  FencedApi(Api& api, MayWrite may_write, absl::Duration longest_call)
      : api_(api), may_write_(std::move(may_write)), longest_call_(longest_call) {}

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
  absl::Status Check() const;
  CallOptions Bound(const CallOptions& call) const;

  Api& api_;
  const MayWrite may_write_;
  const absl::Duration longest_call_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_FENCED_API_H_
