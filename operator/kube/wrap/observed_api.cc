#include "operator/kube/wrap/observed_api.h"

#include <optional>
#include <string>
#include <utility>

#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

bool Creates(Verb verb) {
  return verb == Verb::kCreate || verb == Verb::kCreateSubresource || verb == Verb::kBind;
}

// Returns the HTTP status of the real server's answer.
int HttpCode(Verb verb, const absl::Status& status) {
  if (status.ok()) return Creates(verb) ? 201 : 200;
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
      observer_.WatchEnded(resource_, Name(ReasonOf(event.status())));
    }
    return event;
  }
  void Stop() override { watcher_->Stop(); }

 private:
  const std::unique_ptr<Watcher> watcher_;
  const std::string_view resource_;  // the plural of a ResourceType, which is static
  WatchObserver& observer_;
  bool ended_ = false;  // already reported
};

}  // namespace

absl::Status ObservedApi::Intercept(const ApiCall& call, const CallOptions& options,
                                    Forward forward) {
  if (call.verb == Verb::kList && call.from_start) watches_.Listed(call.type.plural);
  const absl::Time start = clock_.Monotonic();
  const absl::Status status = forward(options);
  if (requests_ != nullptr) {
    requests_->Finished(Name(call.verb), call.type.plural, HttpCode(call.verb, status),
                        clock_.Monotonic() - start);
  }
  if (call.verb != Verb::kWatch) return status;
  if (!status.ok()) {
    watches_.WatchEnded(call.type.plural, Name(ReasonOf(status)));
    return status;
  }
  if (call.from_start) watches_.Listed(call.type.plural);
  watches_.WatchOpened(call.type.plural);
  return status;
}

std::unique_ptr<Watcher> ObservedApi::Wrap(const ResourceType& type,
                                           std::unique_ptr<Watcher> watcher) {
  return std::make_unique<ObservedWatcher>(std::move(watcher), type.plural, watches_);
}

}  // namespace muster::kube
