#include "tests/simulation/replica_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/view.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr int kMostKeys = 200;  // per tick and process

absl::Status Gone() { return absl::UnavailableError("this process is dead"); }

}  // namespace

ReplicaWorld::ReplicaWorld(Options options) : options_(options), random_(options.seed) {
  SetLogLevel(LogLevel::kOff);
  kube::MemoryApiOptions api;
  api.random = [engine = std::mt19937_64(options.seed)]() mutable { return engine(); };
  memory = kube::MemoryApi::Open(clock, std::move(api)).value();
  faulty = std::make_unique<kube::FaultyApi>(*memory, kube::FaultPolicy{.seed = options.seed});
  fleet = std::make_unique<Fleet>(*memory, clock, *this, promises, options.seed);
  hosts.resize(options_.replicas);
  for (int i = 0; i < options_.replicas; ++i) hosts[i].number = i;
}

void ReplicaWorld::AddNode(const std::string& name, int pods) {
  Json node = memory->Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", name})).value();
  node["status"] = {
      {"allocatable", {{"cpu", "640"}, {"memory", "640Gi"}, {"pods", absl::StrCat(pods)}}},
      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  memory->UpdateStatus(kube::kNodes, node).value();
}

void ReplicaWorld::SetNotice(const std::string& node, std::optional<absl::Duration> left) {
  absl::StatusOr<Json> object = memory->Get(kube::kNodes, {"", node});
  if (!object.ok()) return;
  Json& labels = (*object)["metadata"]["labels"];
  if (!labels.is_object()) labels = Json::object();
  for (const char* label : {kNoticeLabel, kNoticeWhoLabel, kNoticeDeadlineLabel}) {
    labels.erase(label);
  }
  if (left) {
    labels[kNoticeLabel] = "Reclaim";
    labels[kNoticeWhoLabel] = "AWS";
    labels[kNoticeDeadlineLabel] = absl::StrCat(absl::ToUnixSeconds(clock.Wall() + *left));
  }
  memory->Update(kube::kNodes, *object).value();
}

TrainingJob ReplicaWorld::CreateJob(const std::string& name, const Json& spec) {
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
  job["spec"] = {
      {"workers", {{"count", 2}, {"min", 1}}},
      {"trainer",
       {{"model", {{"preset", "gpt2-nano"}}},
        {"data", {{"uri", "/data/text"}}},
        {"train", {{"steps", 300}, {"globalBatch", 16}, {"microBatch", 4}, {"sequence", 64}}}}},
      {"checkpoint", {{"uri", "/checkpoints"}}}};
  job["spec"].merge_patch(spec);
  return ParseTrainingJob(memory->Create(kube::kTrainingJobs, job).value()).value();
}

TrainingJob ReplicaWorld::CreateJobOfCpus(const std::string& name, const Json& spec) {
  Json all = {{"template",
               {{"spec",
                 {{"containers",
                   {{{"name", "worker"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}}}};
  all.merge_patch(spec);
  return CreateJob(name, all);
}

AgentRegistry* ReplicaWorld::RegistryOf(int number) {
  Host& host = hosts[number];
  return host.alive && !host.frozen ? &host.replica->registry() : nullptr;
}

void ReplicaWorld::StartHost(Host& host) {
  ++host.process;
  host.alive = true;
  host.frozen = false;
  host.clock = std::make_unique<DriftingClock>(clock);
  host.clock->SetPace(host.pace);
  host.api = std::make_unique<HookedApi>(*faulty);
  SetHooks(host);
  ReplicaOptions options;
  options.identity = absl::StrCat("operator-", host.number, "-", host.process);
  options.resync = options_.resync;
  options.prices = &options_.prices;
  options.decide.currency = options_.prices.currency;
  options.decide.max_savers_per_storage = options_.max_savers_per_storage;
  if (options_.election) {
    options.election.emplace();
    options.election->lease = {"muster-system", "muster-operator"};
  }
  host.replica = std::make_unique<Replica>(*host.api, *host.clock, *host.clock, std::move(options));
  const std::string address = absl::StrCat("operator-", host.number, ":7443");
  host.replica->Connect(PodBuilderOptions{address, "muster-agent"}, address);
  host.elect_at = absl::InfinitePast();
}

void ReplicaWorld::SetHooks(Host& host) {
  const int number = host.number;
  host.api->SetHooks(
      [this, number](const kube::ApiCall& call) {
        Host& at = hosts[number];
        if (!at.alive) return Gone();
        absl::Status fate = before_ ? before_(at, call) : absl::OkStatus();
        if (!at.alive) return Gone();
        if (call.type.plural == "trainingjobs" && call.verb == kube::Verb::kUpdateStatus) {
          job_before_ = memory->Get(kube::kTrainingJobs, call.Key()).value_or(Json());
        }
        return fate;
      },
      [this, number](const kube::ApiCall& call, const absl::Status& outcome) {
        Host& at = hosts[number];
        if (outcome.ok()) Note(at, call);
        absl::Status fate = after_ && outcome.ok() ? after_(at, call) : absl::OkStatus();
        return at.alive ? fate : Gone();
      });
}

void ReplicaWorld::Note(Host& host, const kube::ApiCall& call) {
  if (!IsWrite(call.verb)) return;
  if (call.type.plural == "events") ++host.event_writes;
  if (call.type.plural == "trainingjobs" && call.verb == kube::Verb::kUpdateStatus) {
    if (++host.status_writes > 1) promises.Break("a reconcile wrote the status twice");
    if (host.event_writes > 0) promises.Break("an event was written before the status");
  }
  ++writes_[absl::StrCat(std::string(Name(call.verb)), " ", std::string(call.type.plural))];
  if (call.type.plural == "trainingjobs" && call.verb == kube::Verb::kUpdateStatus) {
    const auto after = memory->Get(kube::kTrainingJobs, call.Key());
    if (after.ok()) promises.StatusWritten(job_before_, *after);
  }
  if (call.type.plural == "pods" && call.verb == kube::Verb::kCreate) {
    const auto owner = kube::ControllerOf(*call.object);
    const auto job = memory->Get(kube::kTrainingJobs, {call.Key().name_space, owner->name});
    if (job.ok() && kube::UidOf(*job) == owner->uid) promises.PodCreated(*call.object, *job);
  }
}

void ReplicaWorld::RunHost(Host& host) {
  if (host.running || host.frozen) return;
  if (!host.alive) {
    if (clock.Monotonic() < host.start_at) return;
    StartHost(host);
  }
  host.running = true;
  Replica& replica = *host.replica;
  // The agents have had their turn in this tick. One that is frozen from here on was last heard
  // now.
  replica.registry().HeardUntil(replica.registry().clock().Monotonic());
  const auto reflectors = replica.reflectors();
  for (size_t i = 0; i < reflectors.size(); ++i) {
    const bool held = i < host.held.size() && host.held[i];
    if (host.alive && !held) reflectors[i]->RunOnce(absl::ZeroDuration());
  }
  for (kube::Reflector* reflector : replica.side_reflectors()) {
    if (host.alive) reflector->RunOnce(absl::ZeroDuration());
  }
  if (host.alive && host.clock->Monotonic() >= host.elect_at) host.elect_at = replica.Elect();
  bool more = true;
  for (int i = 0; i < kMostKeys && host.alive && more; ++i) {
    host.status_writes = host.event_writes = 0;
    more = replica.ReconcileNext();
  }
  if (host.alive) replica.Schedule();
  host.running = false;
  // A process that has lost its lease ends before it does anything else, as in main.
  if (host.alive && !replica.lost().ok()) Kill(host);
  if (!host.alive) host.replica.reset();
}

void ReplicaWorld::Tick() {
  clock.Advance(kTick);
  fleet->RunOnce();
  for (Host& host : hosts) RunHost(host);
}

void ReplicaWorld::RunFor(absl::Duration length) {
  const absl::Time end = clock.Monotonic() + length;
  while (clock.Monotonic() < end) Tick();
}

bool ReplicaWorld::RunUntil(const std::function<bool()>& done, absl::Duration limit) {
  const absl::Time end = clock.Monotonic() + limit;
  while (!done()) {
    if (clock.Monotonic() >= end) return false;
    Tick();
  }
  return true;
}

void ReplicaWorld::Kill(Host& host, absl::Duration downtime) {
  host.alive = false;
  host.frozen = false;
  ++host.process;
  host.start_at = clock.Monotonic() + downtime;
  if (!host.running) host.replica.reset();
}

void ReplicaWorld::Stop(Host& host, absl::Duration downtime) {
  host.replica->Release().IgnoreError();
  Kill(host, downtime);
}

void ReplicaWorld::Freeze(Host& host, absl::Duration length) {
  host.frozen = true;
  RunFor(length);
  host.frozen = false;
}

std::vector<ReplicaWorld::Host*> ReplicaWorld::Leaders() {
  std::vector<Host*> leaders;
  for (Host& host : hosts) {
    if (host.alive && host.replica != nullptr && host.replica->IsLeading()) {
      leaders.push_back(&host);
    }
  }
  return leaders;
}

ReplicaWorld::Host* ReplicaWorld::Leader() {
  const std::vector<Host*> leaders = Leaders();
  return leaders.size() == 1 ? leaders.front() : nullptr;
}

TrainingJob ReplicaWorld::Job(const std::string& name) const {
  const auto json = memory->Get(kube::kTrainingJobs, {"default", name});
  return json.ok() ? ParseTrainingJob(*json).value_or(TrainingJob{}) : TrainingJob{};
}

std::vector<Json> ReplicaWorld::Pods() const { return memory->List(kube::kPods, {})->items; }
std::vector<Json> ReplicaWorld::Events() const { return memory->List(kube::kEvents, {})->items; }

bool ReplicaWorld::Succeeded(const std::string& name) const {
  return IsTrue(Job(name).status, ConditionType::kSucceeded);
}

int ReplicaWorld::Writes(const std::string& what) const {
  const auto found = writes_.find(what);
  return found == writes_.end() ? 0 : found->second;
}

int ReplicaWorld::Writes() const {
  int all = 0;
  for (const auto& [what, count] : writes_) all += count;
  return all;
}

}  // namespace muster::control
