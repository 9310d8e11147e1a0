#include "tests/bench/stream/stream_kubelet.h"

#include <time.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/pod_worker.h"

namespace muster::control {
namespace {

// An honest agent is never refused.
void Must(const absl::Status& taken) {
  if (!taken.ok()) std::abort();
}

constexpr absl::Duration kWatchWait = absl::Milliseconds(200);
// The pause before an event is retried because another thread holds the agent.
constexpr absl::Duration kAgain = absl::Milliseconds(2);
constexpr absl::Duration kHeartbeat = absl::Seconds(2);

}  // namespace

// The registry's end of an agent's stream: each message becomes an event of the kubelet.
class StreamKubelet::Stream final : public AgentStream {
 public:
  Stream(StreamKubelet& kubelet, std::string uid) : kubelet_(kubelet), uid_(std::move(uid)) {}

  absl::Status Send(EncodedMessage message) override {
    v1alpha1::OperatorMessage order;
    order.ParseFromString(*message);
    kubelet_.Put(Kind::kObey, uid_, absl::ZeroDuration(), std::move(order));
    return absl::OkStatus();
  }
  void Close(const absl::Status&) override {}

 private:
  StreamKubelet& kubelet_;
  const std::string uid_;
};

StreamKubelet::StreamKubelet(kube::Api& api, AgentRegistry& registry, std::string name_space,
                             RunTime run_time, int threads)
    : api_(api),
      registry_(registry),
      name_space_(std::move(name_space)),
      run_time_(std::move(run_time)) {
  threads_.emplace_back([this] { Watch(); });
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

StreamKubelet::~StreamKubelet() { Stop(); }

void StreamKubelet::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void StreamKubelet::CountCpu() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  MutexLock lock(mu_);
  cpu_ += absl::DurationFromTimespec(spent);
}

int64_t StreamKubelet::started() const {
  MutexLock lock(mu_);
  return started_;
}

int64_t StreamKubelet::ended() const {
  MutexLock lock(mu_);
  return ended_;
}

absl::Status StreamKubelet::status() const {
  MutexLock lock(mu_);
  return status_;
}

absl::Duration StreamKubelet::cpu() const {
  MutexLock lock(mu_);
  return cpu_;
}

void StreamKubelet::Put(Kind kind, const std::string& uid, absl::Duration in,
                        v1alpha1::OperatorMessage message) {
  MutexLock lock(mu_);
  events_.push({Clock::Real().Monotonic() + in, ++numbers_, kind, uid, std::move(message)});
  changed_.NotifyOne();
}

void StreamKubelet::Watch() {
  while (true) {
    {
      MutexLock lock(mu_);
      if (stopping_) break;
    }
    WatchOnce().IgnoreError();  // a watch that ended is reopened
  }
  CountCpu();
}

absl::Status StreamKubelet::WatchOnce() {
  kube::WatchOptions options;
  options.name_space = name_space_;
  MUSTER_ASSIGN_OR_RETURN(const auto watcher, api_.Watch(kube::kPods, options));
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<kube::WatchEvent> event, watcher->Next(kWatchWait));
    MutexLock lock(mu_);
    if (stopping_) return absl::OkStatus();
    if (!event || event->type == kube::WatchEvent::Type::kBookmark) continue;
    if (event->type == kube::WatchEvent::Type::kDeleted) continue;
    Follow(event->object);
  }
}

void StreamKubelet::Follow(const Json& pod) {
  if (kube::StringAt(pod, {"spec", "nodeName"}).empty()) return;
  const std::string uid = kube::UidOf(pod);
  const bool goes = kube::IsTerminating(pod);
  if (!(goes ? removed_ : seen_).insert(uid).second) return;
  if (agents_.find(uid) == agents_.end()) {
    auto agent = std::make_unique<Agent>();
    agent->pod = pod;
    agent->worker = ReadPodWorker(pod).id;
    agent->stream = std::make_shared<Stream>(*this, uid);
    agents_[uid] = std::move(agent);
  }
  const Kind kind = goes ? Kind::kRemove : Kind::kStart;
  events_.push({Clock::Real().Monotonic(), ++numbers_, kind, uid, {}});
  changed_.NotifyOne();
}

void StreamKubelet::Serve() {
  while (true) {
    Event event;
    {
      MutexLock lock(mu_);
      while (!stopping_) {
        const absl::Time now = Clock::Real().Monotonic();
        if (!events_.empty() && events_.top().at <= now) break;
        if (events_.empty()) {
          changed_.Wait(mu_);
        } else {
          changed_.WaitFor(mu_, events_.top().at - now);
        }
      }
      if (stopping_) break;
      event = events_.top();
      events_.pop();
    }
    Handle(event);
  }
  CountCpu();
}

void StreamKubelet::Handle(const Event& event) {
  std::unique_ptr<Agent> agent;
  {
    MutexLock lock(mu_);
    const auto found = agents_.find(event.uid);
    if (found == agents_.end()) return;  // its pod is gone
    if (found->second == nullptr) {      // another thread has it
      Event again = event;
      again.at = Clock::Real().Monotonic() + kAgain;
      events_.push(std::move(again));
      return;
    }
    if (found->second->stopped && event.kind != Kind::kRemove) return;
    agent = std::move(found->second);
  }
  switch (event.kind) {
    case Kind::kStart:
      Start(*agent, event.uid);
      break;
    case Kind::kObey:
      Obey(*agent, event);
      break;
    case Kind::kHeartbeat: {
      v1alpha1::AgentMessage message;
      *message.mutable_heartbeat()->mutable_round() = agent->round;
      Must(registry_.Receive(agent->attachment, message));
      Put(Kind::kHeartbeat, event.uid, kHeartbeat);
      break;
    }
    case Kind::kFinish: {
      v1alpha1::AgentMessage message;
      *message.mutable_finished()->mutable_round() = agent->round;
      message.mutable_finished()->set_succeeded(true);
      Must(registry_.Receive(agent->attachment, message));
      break;
    }
    case Kind::kEnd:
      registry_.Detach(agent->attachment);
      agent->stopped =
          Write(*agent, {{"phase", "Succeeded"},
                         {"containerStatuses",
                          {{{"name", "worker"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}}}});
      break;
    case Kind::kRemove:
      Remove(*agent);
      break;
  }
  MutexLock lock(mu_);
  if (agent->removed) {
    agents_.erase(event.uid);
    return;
  }
  // The agent stays until its pod is deleted, which may have happened already.
  if (agent->stopped) {
    ++ended_;
    agent->pod = {{"metadata", agent->pod["metadata"]}};
  }
  agents_[event.uid] = std::move(agent);
}

void StreamKubelet::Start(Agent& agent, const std::string& uid) {
  if (kube::StringAt(agent.pod, {"status", "phase"}) != "Running") {
    const Json ready = {{"type", "Ready"}, {"status", "True"}};
    if (!Write(
            agent,
            {{"phase", "Running"}, {"podIP", "127.0.0.1"}, {"conditions", Json::array({ready})}})) {
      return Put(Kind::kStart, uid, kAgain);
    }
  }
  v1alpha1::AgentHello hello;
  *hello.mutable_worker() = agent.worker;
  hello.set_ranks(1);
  const absl::StatusOr<uint64_t> attached = registry_.Attach(hello, agent.stream);
  if (!attached.ok()) {
    // Retries until the controller has registered the job. Any other refusal is final: the worker
    // was replaced, for example.
    if (absl::IsUnavailable(attached.status())) return Put(Kind::kStart, uid, 5 * kAgain);
    MutexLock lock(mu_);
    status_ = attached.status();
    return;
  }
  agent.attachment = *attached;
  Put(Kind::kHeartbeat, uid, kHeartbeat);
  MutexLock lock(mu_);
  ++started_;
}

void StreamKubelet::Obey(Agent& agent, const Event& event) {
  const v1alpha1::OperatorMessage& order = event.message;
  v1alpha1::AgentMessage answer;
  if (order.has_prepare()) {
    agent.round.Clear();
    agent.trajectory = order.prepare().trajectory();
    *answer.mutable_ready()->mutable_round() = order.prepare().round();
    v1alpha1::RankReady& ready = *answer.mutable_ready()->add_ranks();
    ready.set_endpoint("127.0.0.1:1");
  } else if (order.has_go()) {
    agent.round = order.go().round();
    *answer.mutable_joined()->mutable_round() = agent.round;
    answer.mutable_joined()->set_trajectory(agent.trajectory);
    Put(Kind::kFinish, event.uid, run_time_(agent.worker.job()));
  } else if (order.has_stop()) {
    return Put(Kind::kEnd, event.uid);
  } else {
    return;
  }
  Must(registry_.Receive(agent.attachment, answer));
}

void StreamKubelet::Remove(Agent& agent) {
  if (agent.attachment != 0) registry_.Detach(agent.attachment);
  kube::DeleteOptions options;
  options.preconditions.uid = kube::UidOf(agent.pod);
  options.grace_period_seconds = 0;
  const absl::Status deleted = api_.Delete(kube::kPods, kube::KeyOf(agent.pod), options);
  agent.removed = true;
  if (deleted.ok() || absl::IsNotFound(deleted)) return;
  MutexLock lock(mu_);
  status_ = deleted;
}

bool StreamKubelet::Write(Agent& agent, const Json& status) {
  for (int tries = 0; tries < 10; ++tries) {
    Json pod = agent.pod;
    for (const auto& [name, value] : status.items()) pod["status"][name] = value;
    absl::StatusOr<Json> written = api_.UpdateStatus(kube::kPods, pod);
    if (written.ok()) {
      agent.pod = *std::move(written);
      return true;
    }
    if (absl::IsNotFound(written.status())) return true;  // the pod is gone
    {
      MutexLock lock(mu_);
      if (!absl::IsAborted(written.status())) status_ = written.status();
    }
    absl::StatusOr<Json> newer = api_.Get(kube::kPods, kube::KeyOf(agent.pod));
    if (newer.ok()) agent.pod = *std::move(newer);
  }
  return false;
}

}  // namespace muster::control
