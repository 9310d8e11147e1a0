#include "operator/kube/wrap/intercepted_api.h"

#include <optional>
#include <utility>

namespace muster::kube {
namespace {

absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace

template <typename Result, typename Call>
Result InterceptedApi::Through(const ApiCall& call, const CallOptions& options,
                               const Call& forward) {
  std::optional<Result> result;
  const absl::Status status = Intercept(call, options, [&](const CallOptions& passed) {
    return StatusOf(result.emplace(forward(passed)));
  });
  if (!status.ok()) return status;
  if (!result.has_value()) {
    return absl::InternalError("the call was reported as done but never forwarded");
  }
  return *std::move(result);
}

std::unique_ptr<Watcher> InterceptedApi::Wrap(const ResourceType&,
                                              std::unique_ptr<Watcher> watcher) {
  return watcher;
}

absl::StatusOr<Json> InterceptedApi::Get(const ResourceType& type, const ObjectKey& key,
                                         const CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {Verb::kGet, type, &key}, call,
      [&](const CallOptions& passed) { return api_.Get(type, key, passed); });
}

absl::StatusOr<ObjectList> InterceptedApi::List(const ResourceType& type,
                                                const ListOptions& options,
                                                const CallOptions& call) {
  const bool first = options.continue_token.empty();
  return Through<absl::StatusOr<ObjectList>>(
      {.verb = Verb::kList, .type = type, .from_start = first}, call,
      [&](const CallOptions& passed) { return api_.List(type, options, passed); });
}

absl::StatusOr<std::unique_ptr<Watcher>> InterceptedApi::Watch(const ResourceType& type,
                                                               const WatchOptions& options,
                                                               const CallOptions& call) {
  auto watcher = Through<absl::StatusOr<std::unique_ptr<Watcher>>>(
      {.verb = Verb::kWatch, .type = type, .from_start = options.send_initial_events}, call,
      [&](const CallOptions& passed) { return api_.Watch(type, options, passed); });
  if (!watcher.ok()) return watcher;
  return Wrap(type, *std::move(watcher));
}

absl::StatusOr<Json> InterceptedApi::Create(const ResourceType& type, const Json& object,
                                            const CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {.verb = Verb::kCreate, .type = type, .object = &object}, call,
      [&](const CallOptions& passed) { return api_.Create(type, object, passed); });
}

absl::StatusOr<Json> InterceptedApi::CreateSubresource(const ResourceType& type,
                                                       const ObjectKey& key,
                                                       const std::string& subresource,
                                                       const Json& object,
                                                       const CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {Verb::kCreateSubresource, type, &key, &object}, call, [&](const CallOptions& passed) {
        return api_.CreateSubresource(type, key, subresource, object, passed);
      });
}

absl::StatusOr<Json> InterceptedApi::Update(const ResourceType& type, const Json& object,
                                            const CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {.verb = Verb::kUpdate, .type = type, .object = &object}, call,
      [&](const CallOptions& passed) { return api_.Update(type, object, passed); });
}

absl::StatusOr<Json> InterceptedApi::UpdateStatus(const ResourceType& type, const Json& object,
                                                  const CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {.verb = Verb::kUpdateStatus, .type = type, .object = &object}, call,
      [&](const CallOptions& passed) { return api_.UpdateStatus(type, object, passed); });
}

absl::StatusOr<Json> InterceptedApi::Patch(const ResourceType& type, const ObjectKey& key,
                                           const Json& patch, const Preconditions& preconditions,
                                           const CallOptions& call) {
  return Through<absl::StatusOr<Json>>({Verb::kPatch, type, &key, &patch}, call,
                                       [&](const CallOptions& passed) {
                                         return api_.Patch(type, key, patch, preconditions, passed);
                                       });
}

absl::Status InterceptedApi::Delete(const ResourceType& type, const ObjectKey& key,
                                    const DeleteOptions& options, const CallOptions& call) {
  return Through<absl::Status>({Verb::kDelete, type, &key}, call, [&](const CallOptions& passed) {
    return api_.Delete(type, key, options, passed);
  });
}

absl::Status InterceptedApi::Bind(const Binding& binding, const CallOptions& call) {
  return Through<absl::Status>(
      {Verb::kBind, kPods, &binding.pod}, call,
      [&](const CallOptions& passed) { return api_.Bind(binding, passed); });
}

}  // namespace muster::kube
