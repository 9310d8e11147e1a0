#include "tests/e2e/job_observer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::tests {
namespace {

using control::JobNumber;
using control::JobText;
using kube::StringAt;

constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

int JobObserver::JobHistory::bound() const {
  return static_cast<int>(
      std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return pod.second.bound; }));
}

JobObserver::JobObserver(kube::Api& api, std::string name_space)
    : api_(api), name_space_(std::move(name_space)) {
  for (const kube::ResourceType* type : {&kube::kPods, &kube::kTrainingJobs}) {
    threads_.emplace_back([this, type] {
      while (!stopping_) Follow(*type);
    });
  }
}

JobObserver::~JobObserver() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void JobObserver::Follow(const kube::ResourceType& type) {
  kube::WatchOptions options;
  options.name_space = name_space_;
  const auto watcher = api_.Watch(type, options);
  while (watcher.ok() && !stopping_) {
    const auto event = (*watcher)->Next(kLook);
    if (!event.ok()) return;
    if (!*event || (*event)->type == kube::WatchEvent::Type::kBookmark) continue;
    Take(type, (*event)->object);
  }
  MutexLock lock(mu_);
  if (!stopping_) changed_.WaitFor(mu_, kLook);
}

void JobObserver::Take(const kube::ResourceType& type, const Json& object) {
  MutexLock lock(mu_);
  if (type == kube::kPods) {
    TakePod(object);
  } else {
    TakeJob(object);
  }
  changed_.NotifyAll();
}

void JobObserver::TakePod(const Json& pod) {
  const std::string job = kube::LabelOf(pod, "muster.dev/job");
  if (job.empty()) return;
  const std::string name = kube::NameOf(pod);
  PodHistory& history = jobs_[job].pods[name];
  if (history.uids.insert(kube::UidOf(pod)).second && history.uids.size() > 1) {
    Break(absl::StrCat("pod ", name, " was made ", history.uids.size(), " times"));
  }
  history.bound = history.bound || !StringAt(pod, {"spec", "nodeName"}).empty();
}

void JobObserver::TakeJob(const Json& job) {
  const std::string name = kube::NameOf(job);
  JobHistory& history = jobs_[name];
  const int64_t term = JobNumber(job, {"status", "term"});
  const int64_t round = JobNumber(job, {"status", "round"});
  if (std::tie(term, round) < std::tie(history.term, history.round) || round < history.round) {
    Break(absl::StrCat(name, ": (", term, ", ", round, ") after (", history.term, ", ",
                       history.round, ")"));
  }
  history.term = term;
  history.round = round;
  if (round > 0) {
    history.rounds.insert(round);
    const std::string membership = JobText(job, {"status", "membership"});
    const auto known = memberships_.emplace(absl::StrCat(name, "/", round), membership).first;
    if (known->second != membership) {
      Break(absl::StrCat(name, ": round ", round, " has another membership"));
    }
  }
  const int64_t step = JobNumber(job, {"status", "progress", "step"});
  if (step < history.step) {
    Break(absl::StrCat(name, ": step ", step, " after ", history.step));
  }
  history.step = step;
  const int64_t checkpoint = JobNumber(job, {"status", "checkpoint", "step"});
  if (checkpoint < history.checkpoint) {
    Break(absl::StrCat(name, ": checkpoint ", checkpoint, " after ", history.checkpoint));
  }
  history.checkpoint = checkpoint;
  history.state = JobText(job, {"status", "state"});
}

JobObserver::JobHistory JobObserver::Job(const std::string& name) {
  MutexLock lock(mu_);
  return jobs_[name];
}

bool JobObserver::WaitUntil(const std::string& job,
                            const std::function<bool(const JobHistory&)>& done,
                            absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  MutexLock lock(mu_);
  while (!done(jobs_[job])) {
    const absl::Duration left = deadline - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mu_, left);
  }
  return true;
}

std::vector<std::string> JobObserver::broken() {
  MutexLock lock(mu_);
  return broken_;
}

}  // namespace muster::tests
