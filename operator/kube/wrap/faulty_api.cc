#include "operator/kube/wrap/faulty_api.h"

#include <optional>
#include <utility>

#include "operator/kube/api_error.h"

namespace muster::kube {

class FaultyWatcher final : public Watcher {
 public:
  FaultyWatcher(FaultyApi& api, std::unique_ptr<Watcher> watcher)
      : api_(api), watcher_(std::move(watcher)) {}

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration wait) override {
    if (!failed_.ok()) return failed_;
    failed_ = api_.Draw(Verb::kWatchNext).status;
    if (!failed_.ok()) return failed_;
    return watcher_->Next(wait);
  }
  void Stop() override { watcher_->Stop(); }

 private:
  FaultyApi& api_;
  const std::unique_ptr<Watcher> watcher_;
  absl::Status failed_;
};

namespace {

bool ChecksVersion(Verb verb) {
  return verb == Verb::kUpdate || verb == Verb::kUpdateStatus || verb == Verb::kPatch ||
         verb == Verb::kBind;
}

}  // namespace

void FaultyApi::FailNext(Verb verb, absl::Status status, bool done) {
  MutexLock lock(mu_);
  verbs_[verb].scripted.push_back({std::move(status), done});
}

void FaultyApi::DropStatusFields(std::vector<std::string> fields) {
  MutexLock lock(mu_);
  dropped_ = std::move(fields);
}

absl::StatusOr<Json> FaultyApi::UpdateStatus(const ResourceType& type, const Json& object,
                                             const CallOptions& call) {
  Json kept = object;
  {
    MutexLock lock(mu_);
    for (const std::string& field : dropped_) {
      if (kept.contains("status")) kept["status"].erase(field);
    }
  }
  return InterceptedApi::UpdateStatus(type, kept, call);
}

void FaultyApi::SetPolicy(FaultPolicy policy) {
  MutexLock lock(mu_);
  policy_ = policy;
  random_.seed(policy.seed);
}

int64_t FaultyApi::calls(Verb verb) const {
  MutexLock lock(mu_);
  return verbs_[verb].calls;
}

int64_t FaultyApi::faults(Verb verb) const {
  MutexLock lock(mu_);
  return verbs_[verb].faults;
}

FaultyApi::Fault FaultyApi::Roll(Verb verb) {
  // One draw selects among all faults, so that the number of draws does not depend on their
  // chances.
  double at = static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);
  const auto hit = [&at](double chance) {
    at -= chance;
    return at < 0;
  };
  if (verb == Verb::kWatchNext) {
    if (hit(policy_.watch_closed)) return {ApiError(Reason::kWatchClosed, "injected"), false};
    if (hit(policy_.watch_expired)) return {ApiError(Reason::kExpired, "injected"), false};
    return {};
  }
  if (hit(policy_.unavailable)) return {ApiError(Reason::kServiceUnavailable, "injected"), false};
  if (hit(policy_.timeout_before)) return {ApiError(Reason::kTimeout, "injected"), false};
  if (hit(policy_.too_many_requests)) return {TooManyRequests("injected", absl::Seconds(1)), false};
  if (ChecksVersion(verb) && hit(policy_.conflict)) {
    return {ApiError(Reason::kConflict, "injected"), false};
  }
  if (IsWrite(verb) && hit(policy_.timeout_after)) {
    return {ApiError(Reason::kTimeout, "injected, after it was done"), true};
  }
  return {};
}

FaultyApi::Fault FaultyApi::Draw(Verb verb) {
  MutexLock lock(mu_);
  Counters& counters = verbs_[verb];
  ++counters.calls;
  Fault fault = Roll(verb);
  if (counters.in_a_row >= policy_.max_in_a_row) fault = {};
  if (!counters.scripted.empty()) {
    fault = std::move(counters.scripted.front());
    counters.scripted.pop_front();
  }
  counters.in_a_row = fault.status.ok() ? 0 : counters.in_a_row + 1;
  if (!fault.status.ok()) ++counters.faults;
  return fault;
}

absl::Status FaultyApi::Intercept(const ApiCall& call, const CallOptions& options,
                                  Forward forward) {
  const Fault fault = Draw(call.verb);
  if (!fault.status.ok() && !fault.done) return fault.status;
  const absl::Status status = forward(options);
  // A call that fails by itself was not carried out, so its own error is returned, as by a server.
  return status.ok() ? fault.status : status;
}

std::unique_ptr<Watcher> FaultyApi::Wrap(const ResourceType&, std::unique_ptr<Watcher> watcher) {
  return std::make_unique<FaultyWatcher>(*this, std::move(watcher));
}

}  // namespace muster::kube
