#include "operator/kube/observed_api.h"

#include <optional>
#include <string>
#include <utility>

#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

// As the real server would have answered.
int HttpCode(std::string_view verb, const absl::Status& status) {
  if (status.ok()) return verb == "create" || verb == "bind" ? 201 : 200;
  switch (ReasonOf(status)) {
    case Reason::kBadRequest:
      return 400;
    case Reason::kUnauthorized:
      return 401;
    case Reason::kForbidden:
      return 403;
    case Reason::kNotFound:
      return 404;
    case Reason::kMethodNotAllowed:
      return 405;
    case Reason::kAlreadyExists:
    case Reason::kConflict:
      return 409;
    case Reason::kExpired:
      return 410;
    case Reason::kTooLarge:
      return 413;
    case Reason::kInvalid:
      return 422;
    case Reason::kTooManyRequests:
      return 429;
    case Reason::kInternalError:
      return 500;
    case Reason::kServiceUnavailable:
      return 503;
    case Reason::kTimeout:
      return 504;
    case Reason::kUnknown:
    case Reason::kWatchClosed:
      return 0;
  }
  return 0;
}

class ObservedWatcher final : public Watcher {
 public:
  ObservedWatcher(std::unique_ptr<Watcher> watcher, std::string_view resource,
                  WatchObserver& observer)
      : watcher_(std::move(watcher)), resource_(resource), observer_(observer) {}

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration wait) override {
    absl::StatusOr<std::optional<WatchEvent>> event = watcher_->Next(wait);
    if (event.ok() || ended_) return event;
    ended_ = true;
    if (!absl::IsCancelled(event.status())) {
      observer_.WatchEnded(resource_, ReasonName(ReasonOf(event.status())));
    }
    return event;
  }
  void Stop() override { watcher_->Stop(); }

 private:
  const std::unique_ptr<Watcher> watcher_;
  const std::string_view resource_;  // of a ResourceType: static
  WatchObserver& observer_;
  bool ended_ = false;  // told already
};

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace

template <typename Call>
auto ObservedApi::Timed(std::string_view verb, std::string_view resource, const Call& call) const {
  const absl::Time start = clock_.Monotonic();
  auto result = call();
  if (requests_ != nullptr) {
    requests_->Finished(verb, resource, HttpCode(verb, StatusOf(result)),
                        clock_.Monotonic() - start);
  }
  return result;
}

absl::StatusOr<Json> ObservedApi::Get(const ResourceType& type, const ObjectKey& key,
                                      const CallOptions& call) {
  return Timed("get", type.plural, [&] { return api_.Get(type, key, call); });
}

absl::StatusOr<ObjectList> ObservedApi::List(const ResourceType& type, const ListOptions& options,
                                             const CallOptions& call) {
  if (options.continue_token.empty()) watches_.Listed(type.plural);
  return Timed("list", type.plural, [&] { return api_.List(type, options, call); });
}

absl::StatusOr<std::unique_ptr<Watcher>> ObservedApi::Watch(const ResourceType& type,
                                                            const WatchOptions& options,
                                                            const CallOptions& call) {
  auto watcher = Timed("watch", type.plural, [&] { return api_.Watch(type, options, call); });
  if (!watcher.ok()) {
    watches_.WatchEnded(type.plural, ReasonName(ReasonOf(watcher.status())));
    return watcher;
  }
  if (options.send_initial_events) watches_.Listed(type.plural);
  watches_.WatchOpened(type.plural);
  return std::make_unique<ObservedWatcher>(*std::move(watcher), type.plural, watches_);
}

absl::StatusOr<Json> ObservedApi::Create(const ResourceType& type, const Json& object,
                                         const CallOptions& call) {
  return Timed("create", type.plural, [&] { return api_.Create(type, object, call); });
}

absl::StatusOr<Json> ObservedApi::CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                                    const std::string& subresource,
                                                    const Json& object, const CallOptions& call) {
  return Timed("create", type.plural,
               [&] { return api_.CreateSubresource(type, key, subresource, object, call); });
}

absl::StatusOr<Json> ObservedApi::Update(const ResourceType& type, const Json& object,
                                         const CallOptions& call) {
  return Timed("update", type.plural, [&] { return api_.Update(type, object, call); });
}

absl::StatusOr<Json> ObservedApi::UpdateStatus(const ResourceType& type, const Json& object,
                                               const CallOptions& call) {
  return Timed("update_status", type.plural, [&] { return api_.UpdateStatus(type, object, call); });
}

absl::StatusOr<Json> ObservedApi::PatchMetadata(const ResourceType& type, const ObjectKey& key,
                                                const Json& patch,
                                                const Preconditions& preconditions,
                                                const CallOptions& call) {
  return Timed("patch", type.plural,
               [&] { return api_.PatchMetadata(type, key, patch, preconditions, call); });
}

absl::Status ObservedApi::Delete(const ResourceType& type, const ObjectKey& key,
                                 const DeleteOptions& options, const CallOptions& call) {
  return Timed("delete", type.plural, [&] { return api_.Delete(type, key, options, call); });
}

absl::Status ObservedApi::Bind(const Binding& binding, const CallOptions& call) {
  return Timed("bind", kPods.plural, [&] { return api_.Bind(binding, call); });
}

}  // namespace muster::kube
