// Kills the leading operator just before and just after each write to the API server and each
// order to an agent of one fixed story: two jobs, a failure, a save, a resize, a notice of the
// cloud and a deletion. The story must end the same way each time. MUSTER_FULL=1 takes every
// place; otherwise the first of each kind and a sample of the others.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "operator/core/state/view.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

constexpr int kShards = 4;
constexpr int kOfEachKind = 4;  // places of each kind, without MUSTER_FULL

// One place of the story: the nth write or order.
struct Place {
  std::string kind;  // e.g. "create pods", "order Prepare"
  int nth = 0;
  bool before = true;
};

class Story {
 public:
  // Kills the leader there; nowhere if null.
  explicit Story(const Place* place) : place_(place), world_({.seed = 7, .replicas = 2}) {
    world_.SetCallFaults(
        [this](auto& host, const auto& call) { return AtCall(host, call, true); },
        [this](auto& host, const auto& call) { return AtCall(host, call, false); });
    world_.fleet->SetOrderHook(
        [this](int host, const std::string& kind, bool before) { AtOrder(host, kind, before); });
  }

  // Returns what is wrong at the end; empty: nothing.
  std::string Tell() {
    for (const char* node : {"node-1", "node-2", "node-3"}) world_.AddNode(node, 3);
    const TrainingJob first = Add("first", 2, 900);
    const TrainingJob second = Add("second", 2, 100'000);
    if (!Until([&] { return Trains(first, 2) && Trains(second, 2); })) return "nothing trains";
    world_.fleet->KillAgent(first.uid, 1);
    world_.RunFor(absl::Seconds(2));
    if (!Until([&] { return Trains(first, 2); })) return "the lost worker does not come back";
    Edit("first", [](Json& job) { job["spec"]["workers"]["count"] = 3; });
    if (!Until([&] { return Trains(first, 3); })) return "the job does not grow";
    Announce(NodeOf("first-0-"), absl::Seconds(60));
    if (!Until([&] { return HasLeftNoticedNode(); })) return "the noticed node is not left";
    Edit("second", [](Json& job) { job["spec"]["suspend"] = true; });
    if (!Until([&] { return world_.Job("second").status.state() == "Suspended"; })) {
      return "the job is not suspended";
    }
    world_.memory->Delete(kube::kTrainingJobs, {"default", "second"}, {}).IgnoreError();
    if (!Until([&] { return world_.Succeeded("first") && world_.Job("second").uid.empty(); })) {
      return absl::StrCat("not all has ended: ", world_.Job("first").status.ShortDebugString());
    }
    world_.RunFor(absl::Seconds(20));
    return Wrong(first);
  }

  const std::map<std::string, int>& seen() const { return seen_; }
  bool struck() const { return struck_; }

 private:
  TrainingJob Add(const std::string& name, int workers, int steps) {
    return world_.CreateJob(name,
                            {{"workers", {{"count", workers}, {"min", 1}}},
                             {"trainer", {{"train", {{"steps", steps}, {"globalBatch", 32}}}}}});
  }
  bool Until(const std::function<bool()>& done) {
    return world_.RunUntil([&] { return world_.Leader() != nullptr && done(); }, absl::Minutes(3));
  }
  bool Trains(const TrainingJob& job, int workers) {
    const v1alpha1::TrainingJobStatus status = world_.Job(job.name).status;
    return status.state() == "Training" && status.workers().ready() == workers &&
           world_.fleet->Training(job.uid) == workers;
  }
  void Edit(const std::string& name, const std::function<void(Json&)>& edit) {
    Json job = world_.memory->Get(kube::kTrainingJobs, {"default", name}).value();
    edit(job);
    world_.memory->Update(kube::kTrainingJobs, job).value();
  }
  // The node of the live pod of that name's beginning.
  std::string NodeOf(const std::string& prefix) {
    for (const Json& pod : world_.Pods()) {
      const bool ended = kube::StringAt(pod, {"status", "phase"}) != "Running";
      if (ended || kube::IsTerminating(pod) || kube::NameOf(pod).rfind(prefix, 0) != 0) continue;
      return kube::StringAt(pod, {"spec", "nodeName"});
    }
    return "";
  }
  void Announce(const std::string& node, absl::Duration left) {
    noticed_ = node;
    world_.SetNotice(node, left);
  }
  bool HasLeftNoticedNode() {
    for (const Json& pod : world_.Pods()) {
      const std::string phase = kube::StringAt(pod, {"status", "phase"});
      const bool live = phase != "Succeeded" && phase != "Failed";
      if (live && kube::StringAt(pod, {"spec", "nodeName"}) == noticed_) return false;
    }
    return true;
  }
  std::string Wrong(const TrainingJob& first) {
    std::vector<std::string> wrong = world_.promises.broken();
    for (const Json& pod : world_.Pods()) {
      const auto owner = kube::ControllerOf(pod);
      const std::string phase = kube::StringAt(pod, {"status", "phase"});
      const bool kept =
          owner && owner->uid == first.uid && (phase == "Succeeded" || phase == "Failed");
      if (!kept) wrong.push_back(absl::StrCat("pod ", kube::NameOf(pod), " is left over"));
    }
    const v1alpha1::TrainingJobStatus status = world_.Job("first").status;
    if (status.failures().count() > 0) wrong.push_back("a failure was counted");
    if (world_.promises.committed(first.uid) != 900) wrong.push_back("steps are missing");
    if (place_ != nullptr && !struck_) wrong.push_back("the place was not reached");
    return absl::StrJoin(wrong, "\n");
  }

  void Strike(int host) {
    struck_ = true;
    world_.Kill(world_.hosts[host], absl::Seconds(3));
  }
  bool IsAt(const std::string& kind, int count, bool before) const {
    return place_ != nullptr && !struck_ && place_->before == before && place_->kind == kind &&
           place_->nth == count;
  }
  absl::Status AtCall(ReplicaWorld::Host& host, const kube::ApiCall& call, bool before) {
    if (!kube::IsWrite(call.verb)) return absl::OkStatus();
    const std::string kind =
        absl::StrCat(std::string(kube::Name(call.verb)), " ", std::string(call.type.plural));
    const int count = before ? ++seen_[kind] : seen_[kind];
    if (IsAt(kind, count, before)) Strike(host.number);
    return absl::OkStatus();
  }
  void AtOrder(int host, const std::string& what, bool before) {
    const std::string kind = absl::StrCat("order ", what);
    const int count = before ? ++seen_[kind] : seen_[kind];
    if (IsAt(kind, count, before)) Strike(host);
  }

  const Place* place_;
  ReplicaWorld world_;
  std::map<std::string, int> seen_;
  std::string noticed_;
  bool struck_ = false;
};

// Every place of the story, or a seeded sample.
std::vector<Place> Places(const std::map<std::string, int>& seen) {
  std::vector<Place> places;
  std::mt19937_64 random(1);
  for (const auto& [kind, count] : seen) {
    for (int nth = 1; nth <= count; ++nth) {
      const bool taken =
          FullEffort() || nth == 1 || random() % static_cast<uint64_t>(count) < kOfEachKind;
      if (!taken) continue;
      places.push_back({kind, nth, true});
      places.push_back({kind, nth, false});
    }
  }
  return places;
}

class OperatorCrashMatrixTest : public testing::TestWithParam<int> {};

TEST_P(OperatorCrashMatrixTest, TheStoryEndsTheSameWayWhereverTheLeaderDies) {
  Story undisturbed(nullptr);
  ASSERT_EQ(undisturbed.Tell(), "");
  const std::vector<Place> places = Places(undisturbed.seen());
  std::map<std::pair<std::string, bool>, int> killed;
  for (size_t i = 0; i < places.size(); ++i) {
    if (static_cast<int>(i / 2) % kShards != GetParam()) continue;
    const Place& place = places[i];
    Story story(&place);
    EXPECT_EQ(story.Tell(), "") << (place.before ? "before " : "after ") << place.kind << " "
                                << place.nth;
    killed[{place.kind, place.before}] += story.struck();
  }
  std::string table;
  for (const auto& [what, count] : killed) {
    absl::StrAppend(&table, "  ", count, " of ", undisturbed.seen().at(what.first), " ",
                    what.second ? "before " : "after ", what.first, "\n");
  }
  std::printf("the leader was killed:\n%s", table.c_str());
  for (const char* kind :
       {"create pods", "bind pods", "delete pods", "update_status trainingjobs", "create events",
        "update leases", "order Prepare", "order Go", "order Stop", "order Save"}) {
    EXPECT_GT(undisturbed.seen().count(kind), 0u) << kind << " does not occur in the story";
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, OperatorCrashMatrixTest, testing::Range(0, kShards));

}  // namespace
}  // namespace muster::control
