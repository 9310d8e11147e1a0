// Tests ownership of pods by UID and what is left when a job is deleted, at every phase and
// whichever process dies in between.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

enum class Phase { kCreated, kPodsMade, kBound, kTraining, kEnded };

bool IsIn(ReplicaWorld& world, Phase phase, const TrainingJob& job) {
  switch (phase) {
    case Phase::kCreated:
      return true;
    case Phase::kPodsMade:
      return world.Writes("create pods") > 0;
    case Phase::kBound:
      return world.Writes("bind pods") > 0;
    case Phase::kTraining:
      return world.fleet->Training(job.uid) == 2;
    case Phase::kEnded:
      return world.Succeeded(job.name);
  }
  return false;
}

// Deletes a job in `phase`, with a crash after the nth write from then on. Returns false if there
// were fewer writes.
bool DeleteWithCrash(Phase phase, int nth) {
  ReplicaWorld world({.seed = 3, .election = false});
  world.AddNode("node-1", 8);
  const TrainingJob job = world.CreateJob("gpt", {{"trainer", {{"train", {{"steps", 30}}}}}});
  EXPECT_TRUE(world.RunUntil([&] { return IsIn(world, phase, job); }, absl::Minutes(2)));
  int writes = 0;
  world.SetCallFaults(nullptr, [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
    if (IsWrite(call.verb) && ++writes == nth) world.Kill(host, absl::Seconds(1));
    return absl::OkStatus();
  });
  EXPECT_TRUE(world.memory->Delete(kube::kTrainingJobs, {"default", "gpt"}).ok());
  EXPECT_TRUE(world.RunUntil([&] { return world.Job("gpt").uid.empty() && world.Pods().empty(); },
                             absl::Minutes(3)))
      << "phase " << static_cast<int>(phase) << ", crash after write " << nth;
  EXPECT_THAT(world.promises.broken(), IsEmpty());
  return writes >= nth;
}

TEST(DeletionTest, LeavesNothingAtAnyPhaseWhateverDies) {
  for (Phase phase :
       {Phase::kCreated, Phase::kPodsMade, Phase::kBound, Phase::kTraining, Phase::kEnded}) {
    int nth = 1;
    while (DeleteWithCrash(phase, nth) && !testing::Test::HasFailure()) ASSERT_LT(++nth, 20);
  }
}

// The worst that somebody can do who may create pods in another namespace: a copy of a worker.
TEST(ForeignPodTest, APodOfAnotherNamespaceWithTheJobsUidTakesNoPlaceAndHoldsUpNoSuspension) {
  ReplicaWorld world({.seed = 7, .election = false});
  world.AddNode("node-1", 8);
  const TrainingJob job = world.CreateJob("gpt");
  const auto plant = [&](const std::string& phase) {
    for (Json pod : world.Pods()) {
      if (kube::NamespaceOf(pod) != "default") continue;
      Json copy = kube::NewObject(kube::kPods, {"attacker", kube::NameOf(pod)});
      copy["metadata"]["labels"] = pod["metadata"]["labels"];
      copy["metadata"]["ownerReferences"] = pod["metadata"]["ownerReferences"];
      copy["spec"] = pod["spec"];
      // The garbage collector finds no such owner in that namespace; a finalizer holds the pod.
      copy["metadata"]["finalizers"] = {"attacker.example/stay"};
      ASSERT_TRUE(world.memory->Create(kube::kPods, copy).ok());
      Json made = world.memory->Get(kube::kPods, {"attacker", kube::NameOf(pod)}).value();
      made["status"] = {{"phase", phase}};
      const auto updated = world.memory->UpdateStatus(kube::kPods, made);
      ASSERT_TRUE(updated.ok()) << updated.status();
    }
  };
  ASSERT_TRUE(world.RunUntil([&] { return world.Pods().size() == 2; }, absl::Minutes(1)));
  plant("Failed");
  ASSERT_TRUE(
      world.RunUntil([&] { return world.fleet->Training(job.uid) == 2; }, absl::Minutes(2)));
  EXPECT_EQ(world.Job("gpt").status.failures().count(), 0);
  EXPECT_EQ(world.Job("gpt").status.round(), 1);

  Json edited = world.memory->Get(kube::kTrainingJobs, {"default", "gpt"}).value();
  edited["spec"]["suspend"] = true;
  ASSERT_TRUE(world.memory->Update(kube::kTrainingJobs, edited).ok());
  EXPECT_TRUE(
      world.RunUntil([&] { return IsTrue(world.Job("gpt").status, ConditionType::kSuspended); },
                     absl::Minutes(5)));
}

class NamesakeTest : public testing::Test {
 protected:
  NamesakeTest() {
    world_.AddNode("node-1", 8);
    world_.fleet->SetGrace(absl::Seconds(20));
    old_ = world_.CreateJob("gpt");
    EXPECT_TRUE(
        world_.RunUntil([&] { return world_.fleet->Training(old_.uid) == 2; }, absl::Seconds(30)));
  }
  // Deletes the job and removes its finalizer by hand, as an impatient user might.
  void RemoveTheOldJob(kube::Propagation propagation) {
    kube::DeleteOptions options;
    options.propagation = propagation;
    ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "gpt"}, options).ok());
    ASSERT_TRUE(
        world_.memory
            ->PatchMetadata(kube::kTrainingJobs, {"default", "gpt"}, {{"finalizers", Json()}})
            .ok());
  }

  ReplicaWorld world_{{.seed = 5, .election = false}};
  TrainingJob old_;
};

TEST_F(NamesakeTest, WaitsForThePodsOfTheOldOneAndThenWorks) {
  RemoveTheOldJob(kube::Propagation::kBackground);
  const TrainingJob fresh = world_.CreateJob("gpt");
  ASSERT_NE(fresh.uid, old_.uid);
  world_.Tick();
  int old_pods = 0;
  for (const Json& pod : world_.Pods()) old_pods += kube::ControllerOf(pod)->uid == old_.uid;
  EXPECT_EQ(old_pods, 2);
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(5)));
  EXPECT_EQ(world_.Job("gpt").uid, fresh.uid);
  for (const Json& pod : world_.Pods()) EXPECT_EQ(kube::ControllerOf(pod)->uid, fresh.uid);
  EXPECT_EQ(world_.Job("gpt").status.failures().count(), 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(NamesakeTest, DoesNotAdoptWhatTheOldOneLeft) {
  std::vector<std::string> left;
  for (const Json& pod : world_.Pods()) left.push_back(kube::UidOf(pod));
  RemoveTheOldJob(kube::Propagation::kOrphan);
  const TrainingJob fresh = world_.CreateJob("gpt");
  world_.RunFor(absl::Minutes(1));
  ASSERT_EQ(world_.Pods().size(), 2u);
  for (const Json& pod : world_.Pods()) {
    EXPECT_THAT(left, testing::Contains(kube::UidOf(pod)));
    EXPECT_FALSE(kube::IsTerminating(pod));
    EXPECT_FALSE(kube::ControllerOf(pod).has_value());
  }
  EXPECT_EQ(world_.Job("gpt").status.round(), 0);
  bool said = false;
  for (const Json& event : world_.Events()) {
    said =
        said ||
        (event["reason"] == "FailedCreate" && event["involvedObject"]["uid"] == fresh.uid &&
         event["message"].get<std::string>().find("belongs to another owner") != std::string::npos);
  }
  EXPECT_TRUE(said);
  // Once the owner of the foreign pods removes them, the job continues.
  for (const Json& pod : world_.Pods()) {
    ASSERT_TRUE(world_.memory->Delete(kube::kPods, kube::KeyOf(pod)).ok());
  }
  EXPECT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(5)));
}

}  // namespace
}  // namespace muster::control
