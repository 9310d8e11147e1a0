#ifndef MUSTER_TESTS_SIMULATION_HOOKED_API_H_
#define MUSTER_TESTS_SIMULATION_HOOKED_API_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/faulty_api.h"

namespace muster::control {

// One call as the hooks see it. `object` is what is written, null where there is none.
struct ApiCall {
  kube::Verb verb;
  std::string plural;
  kube::ObjectKey key;
  const Json* object = nullptr;

  bool IsWrite() const {
    return verb != kube::Verb::kGet && verb != kube::Verb::kList && verb != kube::Verb::kWatch &&
           verb != kube::Verb::kWatchNext;
  }
};

// An Api whose every call passes two hooks of the test's: `before` may refuse it (nothing is done),
// `after` sees what came of it and may hide the outcome (it was done, the caller is not told). A
// hook may run for long: the caller is then a process that was stopped at this very call.
class HookedApi final : public kube::Api {
 public:
  using Before = std::function<absl::Status(const ApiCall&)>;
  using After = std::function<absl::Status(const ApiCall&, const absl::Status& outcome)>;

  explicit HookedApi(kube::Api& api) : api_(api) {}
  void SetHooks(Before before, After after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

  absl::StatusOr<Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call = {}) override;
  absl::StatusOr<kube::ObjectList> List(const kube::ResourceType& type,
                                        const kube::ListOptions& options,
                                        const kube::CallOptions& call = {}) override;
  absl::StatusOr<std::unique_ptr<kube::Watcher>> Watch(const kube::ResourceType& type,
                                                       const kube::WatchOptions& options,
                                                       const kube::CallOptions& call = {}) override;
  absl::StatusOr<Json> Create(const kube::ResourceType& type, const Json& object,
                              const kube::CallOptions& call = {}) override;
  absl::StatusOr<Json> CreateSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const kube::CallOptions& call = {}) override;
  absl::StatusOr<Json> Update(const kube::ResourceType& type, const Json& object,
                              const kube::CallOptions& call = {}) override;
  absl::StatusOr<Json> UpdateStatus(const kube::ResourceType& type, const Json& object,
                                    const kube::CallOptions& call = {}) override;
  absl::StatusOr<Json> PatchMetadata(const kube::ResourceType& type, const kube::ObjectKey& key,
                                     const Json& patch, const kube::Preconditions& preconditions,
                                     const kube::CallOptions& call = {}) override;
  absl::Status Delete(const kube::ResourceType& type, const kube::ObjectKey& key,
                      const kube::DeleteOptions& options = {},
                      const kube::CallOptions& call = {}) override;
  absl::Status Bind(const kube::Binding& binding, const kube::CallOptions& call = {}) override;

 private:
  template <typename Result, typename Do>
  Result Through(const ApiCall& call, Do done);

  kube::Api& api_;
  Before before_ = [](const ApiCall&) { return absl::OkStatus(); };
  After after_ = [](const ApiCall&, const absl::Status&) { return absl::OkStatus(); };
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_HOOKED_API_H_
