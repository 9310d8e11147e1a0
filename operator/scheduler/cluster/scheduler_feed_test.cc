#include "operator/scheduler/cluster/scheduler_feed.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

using ::testing::IsEmpty;

class SchedulerFeedTest : public testing::Test {
 protected:
  void AddJob(const std::string& ns, const std::string& uid) {
    Json job = kube::NewObject(kube::kTrainingJobs, {ns, "gpt"});
    job["metadata"]["uid"] = uid;
    job["spec"] = {{"workers", {{"count", 1}}}};
    jobs_.Upsert(job, ++version_);
  }

  // Adds the pod gpt-0-1 of this namespace, whose controller is a job "gpt" of UID `owner`.
  void AddPod(const std::string& ns, const std::string& owner) {
    Json job = kube::NewObject(kube::kTrainingJobs, {ns, "gpt"});
    job["metadata"]["uid"] = owner;
    Json pod = kube::NewObject(kube::kPods, {ns, "gpt-0-1"});
    pod["metadata"]["uid"] = "pod of " + ns;
    kube::SetLabel(pod, "muster.dev/job", "gpt");
    kube::SetLabel(pod, "muster.dev/index", "0");
    kube::SetLabel(pod, "muster.dev/incarnation", "1");
    kube::SetOwners(pod, {kube::ControllerReferenceTo(kube::kTrainingJobs, job)});
    pods_.Upsert(pod, ++version_);
  }

  JobCache jobs_{ParseTrainingJob};
  PodCache pods_{ParsePodRecord};
  NodeCache nodes_{ParseNodeRecord};
  SchedulerFeed feed_{jobs_, pods_, nodes_};
  uint64_t version_ = 0;
};

TEST_F(SchedulerFeedTest, APodOfAnotherNamespaceWithTheJobsUidIsNoWorkerOfIt) {
  AddJob("team", "job-uid");
  AddPod("team", "job-uid");
  AddPod("attacker", "job-uid");
  const SchedulerFeed::Changes changes = feed_.Take();
  EXPECT_EQ(changes.pods.at({"team", "gpt-0-1"})->view->owner_uid, "job-uid");
  EXPECT_EQ(changes.pods.at({"attacker", "gpt-0-1"})->view->owner_uid, "");
  ASSERT_EQ(changes.jobs.size(), 1u);
  EXPECT_EQ(kube::ToString(changes.jobs.at("job-uid")), "team/gpt");
}

TEST_F(SchedulerFeedTest, APodThatIsSeenBeforeItsJobIsItsWorkerOnceTheJobIsThere) {
  AddPod("team", "job-uid");
  AddPod("attacker", "job-uid");
  SchedulerFeed::Changes changes = feed_.Take();
  EXPECT_EQ(changes.pods.at({"team", "gpt-0-1"})->view->owner_uid, "");
  EXPECT_THAT(changes.jobs, IsEmpty());

  AddJob("attacker", "another-uid");
  AddJob("team", "job-uid");
  changes = feed_.Take();
  EXPECT_EQ(changes.pods.at({"team", "gpt-0-1"})->view->owner_uid, "job-uid");
  EXPECT_EQ(changes.pods.at({"attacker", "gpt-0-1"})->view->owner_uid, "");
  EXPECT_EQ(kube::ToString(changes.jobs.at("job-uid")), "team/gpt");
}

TEST_F(SchedulerFeedTest, AWorkerStaysOneAfterItsJobIsGoneAndItsEndTouchesTheJob) {
  AddJob("team", "job-uid");
  AddPod("team", "job-uid");
  feed_.Take();
  jobs_.Remove({"team", "gpt"}, ++version_);
  AddPod("team", "job-uid");
  EXPECT_EQ(feed_.Take().pods.at({"team", "gpt-0-1"})->view->owner_uid, "job-uid");
  pods_.Remove({"team", "gpt-0-1"}, ++version_);
  const SchedulerFeed::Changes changes = feed_.Take();
  EXPECT_EQ(changes.pods.at({"team", "gpt-0-1"}), nullptr);
  EXPECT_EQ(changes.jobs.count("job-uid"), 1u);
}

}  // namespace
}  // namespace muster::control
