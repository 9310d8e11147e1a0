#include "operator/kube/wrap/fenced_api.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace muster::kube {
namespace {

constexpr char kFenced[] = "muster.dev/fenced";

}  // namespace

bool IsFenced(const absl::Status& status) { return status.GetPayload(kFenced).has_value(); }

absl::Status FencedError(const absl::Status& why) {
  absl::Status fenced = absl::FailedPreconditionError(
      absl::StrCat("not sent, this process does not lead: ", std::string(why.message())));
  fenced.SetPayload(kFenced, absl::Cord(std::string("1")));
  return fenced;
}

absl::Status FencedApi::Intercept(const ApiCall& call, const CallOptions& options,
                                  Forward forward) {
  if (call.verb == Verb::kList || call.verb == Verb::kWatch) return forward(options);
  if (IsWrite(call.verb)) {
    if (const absl::Status may = may_write_(); !may.ok()) return FencedError(may);
  }
  CallOptions bounded = options;
  bounded.timeout = std::min(options.timeout, longest_call_);
  return forward(bounded);
}

}  // namespace muster::kube
