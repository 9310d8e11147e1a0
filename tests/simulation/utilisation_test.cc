// Tests a job that gives workers back because it makes too little of them, in the whole operator,
// on virtual time: another job gets them, and the first one wants them again once it can use them.
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// The use of workers that share two seconds of work a step, and then wait for each other.
std::function<double(int)> Waiting(double seconds) {
  return [seconds](int workers) {
    const double work = 2.0 / workers;
    return work / (work + seconds);
  };
}

class UtilisationTest : public testing::Test {
 protected:
  UtilisationTest() : world_({.seed = 1, .election = false}) {
    world_.fleet->SetTokensPerReport(1024);
    world_.AddNode("node", 4);
  }
  void AddJob(const std::string& name, const Json& spec) { world_.CreateJobOfCpus(name, spec); }
  void AddWaster() {
    AddJob("waster", {{"workers", {{"count", 4}, {"min", 1}}},
                      {"elastic", {{"utilisation", {{"below", 0.45}, {"for", "6m"}}}}},
                      {"trainer", {{"train", {{"steps", 1'000'000}}}}}});
  }
  bool TrainsWith(const std::string& job, int workers) const {
    return world_.Job(job).status.state() == "Training" &&
           world_.fleet->Training(world_.Job(job).uid) == workers;
  }
  bool Until(const std::function<bool()>& done, absl::Duration limit) {
    return world_.RunUntil(done, limit);
  }

  ReplicaWorld world_;
};

TEST_F(UtilisationTest, AnotherJobGetsTheWorkersThatOnlyWaitedForEachOther) {
  world_.fleet->SetUse(Waiting(1));
  AddWaster();
  ASSERT_TRUE(Until([&] { return TrainsWith("waster", 4); }, absl::Minutes(1)));
  AddJob("other", {{"workers", {{"count", 2}}}, {"trainer", {{"train", {{"steps", 1'000'000}}}}}});
  world_.RunFor(absl::Minutes(4));
  EXPECT_TRUE(TrainsWith("waster", 4)) << "it is not known yet";
  ASSERT_TRUE(Until([&] { return TrainsWith("other", 2); }, absl::Minutes(5)));
  EXPECT_TRUE(TrainsWith("waster", 2));
  EXPECT_EQ(world_.Job("waster").status.elastic().kept(), 2);
  EXPECT_EQ(world_.Job("waster").status.preemption().reason(), "Underused");
  EXPECT_THAT(world_.Job("waster").status.resize().message(),
              HasSubstr("keeps 2 of 4 workers: they were busy for 33% of the time"));
  world_.RunFor(absl::Minutes(20));
  EXPECT_TRUE(TrainsWith("waster", 2)) << "two are used enough, and four would not be";
  EXPECT_EQ(world_.Job("waster").status.round(), 2);
  EXPECT_EQ(world_.Job("waster").status.failures().count(), 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(UtilisationTest, WorkersComeBackOnceTheyWouldBeUsedWellAndThereIsRoom) {
  world_.fleet->SetUse(Waiting(1));
  AddWaster();
  AddJob("other", {{"workers", {{"count", 2}}}, {"trainer", {{"train", {{"steps", 50'000}}}}}});
  ASSERT_TRUE(Until([&] { return TrainsWith("waster", 2); }, absl::Minutes(10)));
  ASSERT_TRUE(Until([&] { return TrainsWith("other", 2); }, absl::Minutes(1)));
  world_.fleet->SetUse(Waiting(0.1));
  ASSERT_TRUE(
      Until([&] { return world_.Job("waster").status.elastic().kept() == 0; }, absl::Minutes(70)));
  EXPECT_TRUE(TrainsWith("waster", 2)) << "there is no room yet";
  ASSERT_TRUE(Until([&] { return world_.Succeeded("other"); }, absl::Hours(3)));
  ASSERT_TRUE(Until([&] { return TrainsWith("waster", 4); }, absl::Minutes(1)));
  EXPECT_FALSE(world_.Job("waster").status.preemption().has_workers());
  EXPECT_EQ(world_.Job("waster").status.failures().count(), 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(UtilisationTest, AJobThatIsStoppedAndStartsAgainIsMeasuredAnew) {
  world_.fleet->SetUse(Waiting(1));
  AddWaster();
  ASSERT_TRUE(Until([&] { return TrainsWith("waster", 2); }, absl::Minutes(10)));
  const auto suspend = [&](bool on) {
    Json job = *world_.memory->Get(kube::kTrainingJobs, {"default", "waster"});
    job["spec"]["suspend"] = on;
    ASSERT_TRUE(world_.memory->Update(kube::kTrainingJobs, job).ok());
  };
  suspend(true);
  ASSERT_TRUE(Until([&] { return world_.Pods().empty(); }, absl::Minutes(2)));
  suspend(false);
  EXPECT_TRUE(Until([&] { return TrainsWith("waster", 4); }, absl::Minutes(2)));
}

}  // namespace
}  // namespace muster::control
