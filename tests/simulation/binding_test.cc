// Binds gangs while everything goes wrong: binds conflict or time out whether or not they were
// done, pods are deleted and nodes go away during the very call, the leader dies, and any other
// read or write of a pod or job fails or is not answered. At every moment no CPU is given twice, no
// gang stays bound in part, nothing starts before all of its gang is bound, and every job ends.
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

constexpr int kWorkersPerNode = 2;
constexpr uint64_t kManySeeds = 100;
constexpr absl::Duration kHalfAtMost = absl::Seconds(10);

enum class Fault { kConflict, kLost, kDoneUnheard, kPodGone, kNodeGone, kLeaderDies, kCount };
constexpr const char* kFaultNames[] = {"conflict", "bind lost", "bind done unheard",
                                       "pod gone", "node gone", "leader dies"};

class BindingWorld {
 public:
  explicit BindingWorld(uint64_t seed)
      : seed_(seed), world_({.seed = seed, .replicas = seed % 3 == 0 ? 2 : 1}) {
    world_.SetCallFaults(
        [this](auto& host, const kube::ApiCall& call) { return Before(host, call); },
        [this](auto& host, const kube::ApiCall& call) { return After(host, call); });
    for (int rack = 0; rack < 2; ++rack) {
      for (int node = 0; node < 3; ++node) AddNode(rack, node);
    }
    rate_ = world_.Number(10, 60);
    const int jobs = world_.Number(2, 4);
    for (int i = 0; i < jobs; ++i) AddJob(i);
  }

  void Run() {
    const absl::Time start = world_.clock.Monotonic();
    while (!AllSucceeded() && world_.clock.Monotonic() < start + absl::Minutes(10)) {
      world_.Tick();
      Watch();
      if (!broken_.empty() || !world_.promises.broken().empty()) break;
      // Faults stop after a while, so that all jobs can finish.
      if (world_.clock.Monotonic() > start + absl::Minutes(2)) rate_ = 0;
      ReturnNodes();
    }
    EXPECT_EQ(broken_, "") << "seed " << seed_ << ", faults: " << absl::StrJoin(log_, ", ");
    EXPECT_EQ(absl::StrJoin(world_.promises.broken(), "\n"), "") << "seed " << seed_;
    EXPECT_TRUE(AllSucceeded()) << "seed " << seed_ << " " << Jobs() << absl::StrJoin(log_, ", ");
  }

  const std::map<Fault, int>& faults() const { return faults_; }
  const std::map<std::string, int>& random_failures() const {
    return random_failures_;
  }  // "pods create"
  // The number of gangs that were unbound because they were bound only in part, as counted by the
  // replicas that are alive.
  int64_t undone() const {
    int64_t all = 0;
    for (const ReplicaWorld::Host& host : world_.hosts) {
      if (host.replica != nullptr) all += host.replica->scheduler().undone();
    }
    return all;
  }

 private:
  void AddNode(int rack, int number) {
    const std::string name = absl::StrCat("r", rack, "n", number);
    Json node = kube::NewObject(kube::kNodes, {"", name});
    kube::SetLabel(node, "network.topology.nvidia.com/leaf", absl::StrCat("rack-", rack));
    node = world_.memory->Create(kube::kNodes, node).value();
    node["status"] = {
        {"allocatable",
         {{"cpu", absl::StrCat(kWorkersPerNode)}, {"memory", "640Gi"}, {"pods", "20"}}},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    world_.memory->UpdateStatus(kube::kNodes, node).value();
  }

  void AddJob(int number) {
    const int count = world_.Number(2, 5);
    const int min = world_.Number(0, 1) == 0 ? count : world_.Number(2, count);
    const Json worker = {{"name", "worker"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
    Json spec = {{"workers", {{"count", count}, {"min", min}}},
                 {"trainer", {{"train", {{"steps", 20}, {"globalBatch", 32}}}}},
                 {"template", {{"spec", {{"containers", Json::array({worker})}}}}},
                 {"failurePolicy", {{"maxFailures", 100}}}};
    if (world_.Number(0, 1) == 0) spec["topology"] = {{"require", "leaf"}};
    const std::string name = absl::StrCat("job-", number);
    jobs_[name] = {world_.CreateJob(name, spec).uid, min};
  }

  // Returns true if this call is to fail: a random call for a single pod or job, other than List
  // and Watch.
  bool FailsAtRandom(const kube::ApiCall& call) {
    if (call.type != kube::kPods && call.type != kube::kTrainingJobs) return false;
    if (call.verb == kube::Verb::kList || call.verb == kube::Verb::kWatch ||
        call.verb == kube::Verb::kWatchNext) {
      return false;
    }
    if (world_.Number(1, 400) > rate_) return false;
    ++random_failures_[std::string(call.type.plural) + " " + std::string(kube::Name(call.verb))];
    return true;
  }

  bool Draw() { return world_.Number(1, 100) <= rate_; }

  void Note(Fault fault) {
    ++faults_[fault];
    log_.push_back(
        absl::StrCat(absl::ToInt64Milliseconds(world_.clock.Monotonic() - absl::UnixEpoch()),
                     " ms ", kFaultNames[static_cast<int>(fault)]));
  }

  absl::Status Before(ReplicaWorld::Host& host, const kube::ApiCall& call) {
    if (inside_) return absl::OkStatus();
    if (call.verb != kube::Verb::kBind) {
      return FailsAtRandom(call) ? absl::UnavailableError("the server is not there")
                                 : absl::OkStatus();
    }
    if (!Draw()) return absl::OkStatus();
    inside_ = true;
    const absl::Status fault = InjectFault(host, call);
    inside_ = false;
    return fault;
  }

  absl::Status InjectFault(ReplicaWorld::Host& host, const kube::ApiCall& call) {
    const auto fault = static_cast<Fault>(world_.Number(0, static_cast<int>(Fault::kCount) - 1));
    if (fault == Fault::kLeaderDies && faults_[fault] >= 2) return absl::OkStatus();
    if (fault == Fault::kNodeGone && !gone_.empty()) return absl::OkStatus();
    if (fault == Fault::kDoneUnheard) {
      unheard_ = true;  // After() notes the fault once the bind is done
      return absl::OkStatus();
    }
    Note(fault);
    switch (fault) {
      case Fault::kConflict:
        return absl::AbortedError("the object has been modified");
      case Fault::kLost:
        return absl::DeadlineExceededError("no answer");
      case Fault::kPodGone:
        world_.memory->Delete(kube::kPods, call.Key(), {}).IgnoreError();
        return absl::OkStatus();
      case Fault::kNodeGone:
        TakeNode();
        return absl::OkStatus();
      case Fault::kLeaderDies:
        world_.Kill(host, absl::Seconds(world_.Number(1, 20)));
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  absl::Status After(ReplicaWorld::Host&, const kube::ApiCall& call) {
    if (inside_) return absl::OkStatus();
    if (call.verb != kube::Verb::kBind) {
      return FailsAtRandom(call) ? absl::DeadlineExceededError("no answer") : absl::OkStatus();
    }
    CountBound();
    if (!unheard_) return absl::OkStatus();
    unheard_ = false;
    Note(Fault::kDoneUnheard);
    return absl::DeadlineExceededError("no answer");
  }

  // Takes a node away: marks it not ready and deletes its pods, as the node controllers do when a
  // machine is gone.
  void TakeNode() {
    gone_ = absl::StrCat("r", world_.Number(0, 1), "n", world_.Number(0, 2));
    SetReady(gone_, false);
    for (const Json& pod : world_.Pods()) {
      if (kube::StringAt(pod, {"spec", "nodeName"}) != gone_) continue;
      world_.memory->Delete(kube::kPods, kube::KeyOf(pod), {}).IgnoreError();
    }
    back_at_ = world_.clock.Monotonic() + absl::Seconds(world_.Number(1, 30));
  }
  void ReturnNodes() {
    if (gone_.empty() || world_.clock.Monotonic() < back_at_) return;
    SetReady(gone_, true);
    gone_.clear();
  }
  void SetReady(const std::string& name, bool ready) {
    Json node = world_.memory->Get(kube::kNodes, {"", name}).value();
    node["status"]["conditions"] = {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}};
    ASSERT_TRUE(world_.memory->UpdateStatus(kube::kNodes, node).ok());
  }

  std::map<std::string, int> CountBound() {
    std::map<std::string, int> used;
    std::map<std::string, int> bound;  // by job
    for (const Json& pod : world_.Pods()) {
      const std::string phase = kube::StringAt(pod, {"status", "phase"});
      const std::string node = kube::StringAt(pod, {"spec", "nodeName"});
      if (node.empty() || phase == "Succeeded" || phase == "Failed") continue;
      if (++used[node] > kWorkersPerNode) {
        broken_ = absl::StrCat("a CPU of ", node, " is given twice: ", kube::NameOf(pod));
      }
      if (!kube::IsTerminating(pod)) ++bound[kube::LabelOf(pod, "muster.dev/job")];
    }
    for (auto& [name, job] : jobs_) job.most = std::max(job.most, bound[name]);
    return bound;
  }

  void Watch() {
    std::map<std::string, int> bound = CountBound();
    const ReplicaWorld::Host* leader = world_.Leader();
    const int64_t process = leader == nullptr ? -1 : leader->process * 10 + leader->number;
    if (process != leader_) led_since_ = world_.clock.Monotonic();
    leader_ = process;
    for (auto& [name, job] : jobs_) WatchJob(name, job, bound[name]);
  }

  struct SimJob {
    std::string uid;
    int min = 1;
    absl::Time half_since = absl::InfiniteFuture();
    int64_t round = 0;
    int most = 0;  // highest number of pods bound at the same time
  };

  void WatchJob(const std::string& name, SimJob& job, int bound) {
    const TrainingJob now = world_.Job(name);
    if (now.status.round() > 0 && job.round == 0 && job.most < job.min) {
      broken_ = absl::StrCat(name, " began its first round when ", job.most, " pods were bound");
    }
    job.round = now.status.round();
    const bool half = bound > 0 && bound < job.min && now.status.round() == 0;
    if (!half) {
      job.half_since = absl::InfiniteFuture();
      return;
    }
    job.half_since = std::min(job.half_since, world_.clock.Monotonic());
    // A new leader first waits until the previous leader's writes must have ended.
    const absl::Time from = std::max(job.half_since, led_since_ + absl::Seconds(5));
    if (leader_ >= 0 && world_.clock.Monotonic() > from + kHalfAtMost) {
      broken_ = absl::StrCat(name, " stays bound in part: ", bound, " of ", job.min);
    }
  }

  bool AllSucceeded() {
    for (const auto& [name, job] : jobs_) {
      if (!world_.Succeeded(name)) return false;
    }
    return true;
  }
  std::string Jobs() {
    std::string text;
    for (const auto& [name, job] : jobs_) {
      absl::StrAppend(&text, name, " ", world_.Job(name).status.ShortDebugString(), "\n");
    }
    return text;
  }

  const uint64_t seed_;
  ReplicaWorld world_;
  std::map<std::string, SimJob> jobs_;
  std::map<Fault, int> faults_;
  std::map<std::string, int> random_failures_;
  std::vector<std::string> log_;
  int rate_ = 0;
  bool inside_ = false;
  bool unheard_ = false;
  std::string gone_;
  absl::Time back_at_;
  int64_t leader_ = -1;
  absl::Time led_since_ = absl::InfinitePast();
  std::string broken_;
};

TEST(Binding, NoCpuIsGivenTwiceAndNoGangStaysPartlyBound) {
  const char* one = std::getenv("MUSTER_SEED");
  const uint64_t first = one == nullptr ? 1 : std::strtoull(one, nullptr, 10);
  const uint64_t seeds =
      one != nullptr ? 1 : TestIterations({.sanitized = 10, .usual = 120, .full = 1000});
  std::map<Fault, int> faults;
  std::map<std::string, int> random_failures;
  int64_t undone = 0;
  for (uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    BindingWorld world(seed);
    world.Run();
    for (const auto& [fault, count] : world.faults()) faults[fault] += count;
    for (const auto& [call, count] : world.random_failures()) random_failures[call] += count;
    undone += world.undone();
  }
  // Each fault must have occurred, or the test shows nothing.
  if (one != nullptr) return;
  for (int i = 0; i < static_cast<int>(Fault::kCount); ++i) {
    EXPECT_GE(faults[static_cast<Fault>(i)], static_cast<int>(seeds) / 10) << kFaultNames[i];
  }
  // These are rarer and need not occur with only a few seeds.
  if (seeds < kManySeeds) return;
  for (const char* call : {"pods create", "pods update_status", "pods delete",
                           "trainingjobs update_status", "trainingjobs patch"}) {
    EXPECT_GT(random_failures[call], 0) << call;
  }
  EXPECT_GT(undone, 0);
}

}  // namespace
}  // namespace muster::control
