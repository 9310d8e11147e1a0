#ifndef MUSTER_OPERATOR_KUBE_WRAP_FENCED_API_H_
#define MUSTER_OPERATOR_KUBE_WRAP_FENCED_API_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::kube {

// Returns true for the error of a write that FencedApi blocked: nothing was sent, and this process
// must not retry it.
bool IsFenced(const absl::Status& status);
absl::Status FencedError(const absl::Status& why);

// The Api of a leader. It asks `may_write` before every write, and limits every call except lists
// and watches to `longest_call`. With longest_call <= leaseDuration - renewDeadline and a
// `may_write` that is OK only until renewDeadline after the last renewal, a write that was let
// through has ended before another process can hold the lease. A write that is delayed all the same
// (a stopped process, a stuck connection) still meets the server's own checks. Thread-safe if
// `may_write` is.
class FencedApi final : public InterceptedApi {
 public:
  using MayWrite = std::function<absl::Status()>;

  FencedApi(Api& api, MayWrite may_write, absl::Duration longest_call)
      : InterceptedApi(api), may_write_(std::move(may_write)), longest_call_(longest_call) {}

 protected:
  absl::Status Intercept(const ApiCall& call, const CallOptions& options, Forward forward) override;

 private:
  const MayWrite may_write_;
  const absl::Duration longest_call_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_WRAP_FENCED_API_H_
