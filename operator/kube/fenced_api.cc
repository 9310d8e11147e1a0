#include "operator/kube/fenced_api.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

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

absl::Status FencedApi::Check() const {
  const absl::Status may = may_write_();
  return may.ok() ? may : FencedError(may);
}

CallOptions FencedApi::Bound(const CallOptions& call) const {
  CallOptions bounded = call;
  bounded.timeout = std::min(call.timeout, longest_call_);
  return bounded;
}

absl::StatusOr<Json> FencedApi::Get(const ResourceType& type, const ObjectKey& key,
                                    const CallOptions& call) {
  return api_.Get(type, key, Bound(call));
}

absl::StatusOr<ObjectList> FencedApi::List(const ResourceType& type, const ListOptions& options,
                                           const CallOptions& call) {
  return api_.List(type, options, call);
}

absl::StatusOr<std::unique_ptr<Watcher>> FencedApi::Watch(const ResourceType& type,
                                                          const WatchOptions& options,
                                                          const CallOptions& call) {
  return api_.Watch(type, options, call);
}

absl::StatusOr<Json> FencedApi::Create(const ResourceType& type, const Json& object,
                                       const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.Create(type, object, Bound(call));
}

absl::StatusOr<Json> FencedApi::CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                                  const std::string& subresource,
                                                  const Json& object, const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.CreateSubresource(type, key, subresource, object, Bound(call));
}

absl::StatusOr<Json> FencedApi::Update(const ResourceType& type, const Json& object,
                                       const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.Update(type, object, Bound(call));
}

absl::StatusOr<Json> FencedApi::UpdateStatus(const ResourceType& type, const Json& object,
                                             const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.UpdateStatus(type, object, Bound(call));
}

absl::StatusOr<Json> FencedApi::PatchMetadata(const ResourceType& type, const ObjectKey& key,
                                              const Json& patch, const Preconditions& preconditions,
                                              const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.PatchMetadata(type, key, patch, preconditions, Bound(call));
}

absl::Status FencedApi::Delete(const ResourceType& type, const ObjectKey& key,
                               const DeleteOptions& options, const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.Delete(type, key, options, Bound(call));
}

absl::Status FencedApi::Bind(const Binding& binding, const CallOptions& call) {
  MUSTER_RETURN_IF_ERROR(Check());
  return api_.Bind(binding, Bound(call));
}

}  // namespace muster::kube
