#ifndef MUSTER_TESTS_SIMULATION_HOOKED_API_H_
#define MUSTER_TESTS_SIMULATION_HOOKED_API_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::control {

// An Api whose every call passes two hooks of the test's: `before` may refuse it (nothing is done),
// `after` sees what came of it and may hide the outcome (it was done, the caller is not told). A
// hook may run for long: the caller is then a process that was stopped at this very call.
class HookedApi final : public kube::InterceptedApi {
 public:
  using Before = std::function<absl::Status(const kube::ApiCall&)>;
  using After = std::function<absl::Status(const kube::ApiCall&, const absl::Status& outcome)>;

  explicit HookedApi(kube::Api& api) : InterceptedApi(api) {}
  void SetHooks(Before before, After after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

 protected:
  absl::Status Around(const kube::ApiCall& call, const kube::CallOptions& options,
                      PassOn pass_on) override {
    if (absl::Status refused = before_(call); !refused.ok()) return refused;
    const absl::Status outcome = pass_on(options);
    const absl::Status hidden = after_(call, outcome);
    return hidden.ok() ? outcome : hidden;
  }

 private:
  Before before_ = [](const kube::ApiCall&) { return absl::OkStatus(); };
  After after_ = [](const kube::ApiCall&, const absl::Status&) { return absl::OkStatus(); };
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_HOOKED_API_H_
