#ifndef MUSTER_OPERATOR_KUBE_WRAP_INTERCEPTED_API_H_
#define MUSTER_OPERATOR_KUBE_WRAP_INTERCEPTED_API_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"

namespace muster::kube {

// An Api in front of another, which must outlive it. Every call goes through Intercept, so a
// subclass that fences, observes or fails calls overrides one function. Thread-safe if Intercept
// is.
class InterceptedApi : public Api {
 public:
  absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                           const CallOptions& call = {}) final;
  absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                  const CallOptions& call = {}) final;
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                 const WatchOptions& options,
                                                 const CallOptions& call = {}) final;
  absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) final;
  absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const CallOptions& call = {}) final;
  absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) final;
  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call = {}) override;
  absl::StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, const Json& patch,
                             const Preconditions& preconditions = {},
                             const CallOptions& call = {}) final;
  absl::Status Delete(const ResourceType& type, const ObjectKey& key,
                      const DeleteOptions& options = {}, const CallOptions& call = {}) final;
  absl::Status Bind(const Binding& binding, const CallOptions& call = {}) final;

 protected:
  using Forward = absl::FunctionRef<absl::Status(const CallOptions&)>;

  explicit InterceptedApi(Api& api) : api_(api) {}

  // Performs the call through `forward`, once or not at all, and returns the status for the caller.
  // It may return OK only if the call was passed on; the caller then gets the call's result.
  virtual absl::Status Intercept(const ApiCall& call, const CallOptions& options,
                                 Forward forward) = 0;
  // Returns the watcher to hand out in place of one that was opened.
  virtual std::unique_ptr<Watcher> Wrap(const ResourceType& type, std::unique_ptr<Watcher> watcher);

 private:
  template <typename Result, typename Call>
  Result Through(const ApiCall& call, const CallOptions& options, const Call& forward);

  Api& api_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_WRAP_INTERCEPTED_API_H_
