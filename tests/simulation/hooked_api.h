#ifndef MUSTER_TESTS_SIMULATION_HOOKED_API_H_
#define MUSTER_TESTS_SIMULATION_HOOKED_API_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::control {

// An Api that runs two hooks of the test around every call: `before` may refuse it (it is not
// made), `after` sees its outcome and may replace an OK by an error (it was made, but the caller
// does not learn so). A hook may run for long, as if the calling process had been stopped at this
// very call.
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
  absl::Status Intercept(const kube::ApiCall& call, const kube::CallOptions& options,
                         Forward forward) override {
    if (absl::Status refused = before_(call); !refused.ok()) return refused;
    const absl::Status outcome = forward(options);
    const absl::Status hidden = after_(call, outcome);
    return hidden.ok() ? outcome : hidden;
  }

 private:
  Before before_ = [](const kube::ApiCall&) { return absl::OkStatus(); };
  After after_ = [](const kube::ApiCall&, const absl::Status&) { return absl::OkStatus(); };
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_HOOKED_API_H_
