#include "tests/simulation/hooked_api.h"

#include <string_view>
#include <type_traits>
#include <utility>

namespace muster::control {
namespace {

absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

std::string Plural(const kube::ResourceType& type) { return std::string(type.plural); }

}  // namespace

template <typename Result, typename Do>
Result HookedApi::Through(const ApiCall& call, Do done) {
  if (absl::Status refused = before_(call); !refused.ok()) return refused;
  Result result = done();
  if (absl::Status hidden = after_(call, StatusOf(result)); !hidden.ok()) return hidden;
  return result;
}

absl::StatusOr<Json> HookedApi::Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                                    const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>({kube::Verb::kGet, Plural(type), key},
                                       [&] { return api_.Get(type, key, call); });
}

absl::StatusOr<kube::ObjectList> HookedApi::List(const kube::ResourceType& type,
                                                 const kube::ListOptions& options,
                                                 const kube::CallOptions& call) {
  return Through<absl::StatusOr<kube::ObjectList>>({kube::Verb::kList, Plural(type), {}},
                                                   [&] { return api_.List(type, options, call); });
}

absl::StatusOr<std::unique_ptr<kube::Watcher>> HookedApi::Watch(const kube::ResourceType& type,
                                                                const kube::WatchOptions& options,
                                                                const kube::CallOptions& call) {
  return Through<absl::StatusOr<std::unique_ptr<kube::Watcher>>>(
      {kube::Verb::kWatch, Plural(type), {}}, [&] { return api_.Watch(type, options, call); });
}

absl::StatusOr<Json> HookedApi::Create(const kube::ResourceType& type, const Json& object,
                                       const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {kube::Verb::kCreate, Plural(type), kube::KeyOf(object), &object},
      [&] { return api_.Create(type, object, call); });
}

absl::StatusOr<Json> HookedApi::CreateSubresource(const kube::ResourceType& type,
                                                  const kube::ObjectKey& key,
                                                  const std::string& subresource,
                                                  const Json& object,
                                                  const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>({kube::Verb::kCreate, Plural(type), key, &object}, [&] {
    return api_.CreateSubresource(type, key, subresource, object, call);
  });
}

absl::StatusOr<Json> HookedApi::Update(const kube::ResourceType& type, const Json& object,
                                       const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {kube::Verb::kUpdate, Plural(type), kube::KeyOf(object), &object},
      [&] { return api_.Update(type, object, call); });
}

absl::StatusOr<Json> HookedApi::UpdateStatus(const kube::ResourceType& type, const Json& object,
                                             const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {kube::Verb::kUpdateStatus, Plural(type), kube::KeyOf(object), &object},
      [&] { return api_.UpdateStatus(type, object, call); });
}

absl::StatusOr<Json> HookedApi::PatchMetadata(const kube::ResourceType& type,
                                              const kube::ObjectKey& key, const Json& patch,
                                              const kube::Preconditions& preconditions,
                                              const kube::CallOptions& call) {
  return Through<absl::StatusOr<Json>>(
      {kube::Verb::kPatchMetadata, Plural(type), key, &patch},
      [&] { return api_.PatchMetadata(type, key, patch, preconditions, call); });
}

absl::Status HookedApi::Delete(const kube::ResourceType& type, const kube::ObjectKey& key,
                               const kube::DeleteOptions& options, const kube::CallOptions& call) {
  return Through<absl::Status>({kube::Verb::kDelete, Plural(type), key},
                               [&] { return api_.Delete(type, key, options, call); });
}

absl::Status HookedApi::Bind(const kube::Binding& binding, const kube::CallOptions& call) {
  return Through<absl::Status>({kube::Verb::kBind, "pods", binding.pod},
                               [&] { return api_.Bind(binding, call); });
}

}  // namespace muster::control
