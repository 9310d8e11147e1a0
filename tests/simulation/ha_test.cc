// Runs two and three replicas over one API server, on virtual time: who leads, how soon, and that a
// change of leaders costs a job nothing at any moment.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

class HaTest : public testing::Test {
 protected:
  explicit HaTest(int replicas = 2) : world_({.seed = 1, .replicas = replicas}) {
    world_.AddNode("node-1", 8);
  }
  void LeadAndTrain() {
    job_ = world_.CreateJob("gpt");
    ASSERT_TRUE(world_.RunUntil([&] { return Training(); }, absl::Seconds(30)));
  }
  bool Training() {
    return world_.Leader() != nullptr && world_.fleet->Training(job_.uid) == 2 &&
           world_.Job("gpt").status.state() == "Training";
  }
  // Waits until another process leads and returns how long that took.
  absl::Duration HandOver(int64_t old_process) {
    const absl::Time start = world_.clock.Monotonic();
    EXPECT_TRUE(world_.RunUntil(
        [&] { return world_.Leader() != nullptr && world_.Leader()->process != old_process; },
        absl::Minutes(1)));
    return world_.clock.Monotonic() - start;
  }
  ReplicaWorld::Host& Other(const ReplicaWorld::Host& host) {
    return world_.hosts[host.number == 0 ? 1 : 0];
  }

  ReplicaWorld world_;
  TrainingJob job_;
};

TEST_F(HaTest, OneLeadsAndTheOtherIsWarmAndPointsToIt) {
  LeadAndTrain();
  ASSERT_EQ(world_.Leaders().size(), 1u);
  ReplicaWorld::Host& standby = Other(*world_.Leader());
  EXPECT_TRUE(standby.replica->HasSynced());
  EXPECT_EQ(standby.replica->jobs().size(), 1u);
  auto stream = std::make_shared<SimStream>();
  v1alpha1::AgentHello hello;
  EXPECT_EQ(*standby.replica->registry().Attach(hello, stream), 0u);
  ASSERT_EQ(stream->inbox.size(), 1u);
  EXPECT_EQ(stream->inbox.front().not_leader().address(),
            absl::StrCat("operator-", world_.Leader()->number, ":7443"));
}

TEST_F(HaTest, ACleanStopHandsOverWithinTwoSeconds) {
  LeadAndTrain();
  ReplicaWorld::Host& leader = *world_.Leader();
  world_.Stop(leader, absl::Hours(1));
  EXPECT_LE(HandOver(0), absl::Seconds(2));
}

TEST_F(HaTest, ACrashHandsOverWithinTheLeaseAndTwoSeconds) {
  LeadAndTrain();
  ReplicaWorld::Host& leader = *world_.Leader();
  world_.Kill(leader, absl::Hours(1));
  EXPECT_LE(HandOver(0), absl::Seconds(17));
}

TEST_F(HaTest, TrainingDoesNotNoticeAChangeOfLeaders) {
  LeadAndTrain();
  const TrainingJob before = world_.Job("gpt");
  const std::vector<Json> pods = world_.Pods();
  world_.Kill(*world_.Leader(), absl::Hours(1));
  while (world_.Leader() == nullptr) {
    const int64_t steps = world_.fleet->steps_done();
    world_.Tick();
    ASSERT_EQ(world_.fleet->steps_done(), steps + 1);
  }
  ASSERT_TRUE(
      world_.RunUntil([&] { return world_.Job("gpt").status.term() == 2; }, absl::Seconds(5)));
  ASSERT_TRUE(world_.RunUntil([&] { return Training(); }, absl::Seconds(5)));
  EXPECT_EQ(world_.Job("gpt").status.round(), before.status.round());
  EXPECT_EQ(world_.Job("gpt").status.failures().count(), 0);
  ASSERT_EQ(world_.Pods().size(), pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    EXPECT_EQ(kube::UidOf(world_.Pods()[i]), kube::UidOf(pods[i]));
  }
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(HaTest, AnAgentThatDiesWhileNobodyLeadsIsReplaced) {
  LeadAndTrain();
  world_.Kill(*world_.Leader(), absl::Hours(1));
  world_.fleet->KillAgent(job_.uid, 1);
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(3)));
  EXPECT_EQ(world_.Job("gpt").status.incarnations(1), 2);
  EXPECT_EQ(world_.Job("gpt").status.incarnations(0), 1);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

// Half of a spot notice's two minutes is reserved for a checkpoint, no matter how often the leader
// changes.
TEST_F(HaTest, ANoticeIsNotStartedOverByANewLeader) {
  world_.fleet->SetSaveTime(absl::Minutes(10));  // it waits for a save that comes too late
  job_ = world_.CreateJob("gpt", {{"trainer", {{"train", {{"steps", 100000}}}}}});
  ASSERT_TRUE(world_.RunUntil([&] { return Training(); }, absl::Seconds(30)));
  Json node = *world_.memory->Get(kube::kNodes, {"", "node-1"});
  node["spec"]["taints"] = {
      {{"key", "aws-node-termination-handler/spot-itn"}, {"effect", "NoSchedule"}}};
  ASSERT_TRUE(world_.memory->Update(kube::kNodes, node).ok());
  world_.AddNode("node-2", 8);
  const absl::Time noticed = world_.clock.Monotonic();
  world_.RunFor(absl::Seconds(20));
  EXPECT_EQ(world_.Job("gpt").status.workers().leaving_size(), 2);
  world_.Kill(*world_.Leader(), absl::Hours(1));
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Job("gpt").status.incarnations(0) == 2; },
                              absl::Minutes(3)));
  EXPECT_GE(world_.clock.Monotonic() - noticed, absl::Seconds(58));
  EXPECT_LE(world_.clock.Monotonic() - noticed, absl::Seconds(61));
  ASSERT_TRUE(world_.RunUntil(
      [&] { return Training() && world_.Job("gpt").status.workers().leaving_size() == 0; },
      absl::Minutes(1)));
  EXPECT_EQ(world_.Job("gpt").status.failures().count(), 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(HaTest, AThawedLeaderWritesNothingAndEnds) {
  LeadAndTrain();
  ReplicaWorld::Host& leader = *world_.Leader();
  const int64_t process = leader.process;
  int writes = 0;
  world_.Freeze(leader, absl::Seconds(25));
  ASSERT_EQ(world_.Leaders().size(), 2u);  // the thawed one has not noticed yet
  world_.SetCallFaults(
      [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
        if (host.number == leader.number && IsWrite(call.verb)) ++writes;
        return absl::OkStatus();
      },
      nullptr);
  world_.Tick();
  EXPECT_FALSE(leader.alive);
  EXPECT_NE(leader.process, process);
  EXPECT_EQ(writes, 0);
}

// The leader is frozen in the middle of a reconcile, with its next write already decided.
TEST_F(HaTest, ALeaderStoppedBetweenTwoCallsSendsNoFurtherWrite) {
  const ReplicaWorld::Host* stopped = nullptr;
  int writes_after = 0;
  world_.SetCallFaults(nullptr, [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
    if (stopped == nullptr && call.verb == kube::Verb::kCreate && call.type.plural == "pods") {
      stopped = &host;
      world_.Freeze(host, absl::Seconds(30));
    } else if (stopped == &host && host.process == 1 && IsWrite(call.verb)) {
      ++writes_after;
    }
    return absl::OkStatus();
  });
  job_ = world_.CreateJob("gpt");
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(3)));
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(writes_after, 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

// The previous leader's binds may still be in flight when its lease expires.
TEST_F(HaTest, ANewLeaderWaitsBeforeItsFirstBind) {
  LeadAndTrain();
  world_.Kill(*world_.Leader(), absl::Hours(1));
  world_.CreateJob("second");
  HandOver(0);
  const absl::Time leads = world_.clock.Monotonic();
  ASSERT_TRUE(
      world_.RunUntil([&] { return world_.Writes("create pods") == 4; }, absl::Seconds(10)));
  EXPECT_EQ(world_.Writes("bind pods"), 2);
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Writes("bind pods") == 4; }, absl::Seconds(10)));
  EXPECT_GE(world_.clock.Monotonic() - leads, absl::Seconds(4));
  EXPECT_LE(world_.clock.Monotonic() - leads, absl::Seconds(7));
}

TEST_F(HaTest, ALeaseThatWasReleasedSparesTheWaitBeforeBinding) {
  LeadAndTrain();
  world_.Stop(*world_.Leader(), absl::Hours(1));
  world_.CreateJob("second");
  const absl::Time stopped = world_.clock.Monotonic();
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Writes("bind pods") == 4; }, absl::Seconds(10)));
  EXPECT_LE(world_.clock.Monotonic() - stopped, absl::Seconds(3));
}

TEST_F(HaTest, TheTermIsNeverBelowTheLeases) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world_.RunUntil([&] { return world_.Leader() != nullptr; }, absl::Seconds(30)));
    world_.Stop(*world_.Leader(), absl::Seconds(1));
  }
  world_.CreateJob("gpt");
  ASSERT_TRUE(
      world_.RunUntil([&] { return world_.Job("gpt").status.term() > 0; }, absl::Seconds(30)));
  const Json lease = *world_.memory->Get(kube::kLeases, {"muster-system", "muster-operator"});
  EXPECT_EQ(world_.Job("gpt").status.term(), lease["spec"]["leaseTransitions"].get<int64_t>());
}

// The standby's watch lags, so objects may exist that its cache does not show.
TEST_F(HaTest, NoReplicaLeadsWithAnOldCache) {
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Leader() != nullptr; }, absl::Seconds(5)));
  ReplicaWorld::Host& standby = Other(*world_.Leader());
  standby.held = {false, true, false};
  LeadAndTrain();
  world_.Kill(*world_.Leader(), absl::Hours(1));
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(world_.Leader(), nullptr);
  standby.held = {false, false, false};
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(1)));
  EXPECT_EQ(world_.Job("gpt").status.incarnations(0), 1);
  EXPECT_EQ(world_.Writes("create pods"), 2);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

class TwoBelieveTest : public HaTest {
 protected:
  // The clock of the first replica runs slow, and while cut_ is set it cannot reach the lease.
  TwoBelieveTest() {
    world_.hosts[0].pace = 0.5;
    world_.SetCallFaults(
        [this](ReplicaWorld::Host& host, const kube::ApiCall& call) {
          const bool cut = cut_ && host.number == 0 && call.type.plural == "leases";
          return cut ? absl::UnavailableError("the lease is out of reach") : absl::OkStatus();
        },
        nullptr);
  }

  bool cut_ = false;
};

TEST_F(TwoBelieveTest, AFalseLeadersTermIsOverruled) {
  LeadAndTrain();
  ReplicaWorld::Host& false_one = world_.hosts[0];
  ASSERT_EQ(world_.Leader(), &false_one);
  cut_ = true;
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Leaders().size() == 2; }, absl::Seconds(20)));
  // The false leader sees this job only after the true leader has started on it.
  false_one.held = {true, false, false};
  world_.CreateJob("late");
  auto term = [&] { return world_.Job("late").status.term(); };
  ASSERT_TRUE(world_.RunUntil([&] { return term() == 2; }, absl::Seconds(2)));
  false_one.held = {false, false, false};
  ASSERT_TRUE(world_.RunUntil([&] { return term() == 3; }, absl::Seconds(2)));
  EXPECT_EQ(world_.Leaders().size(), 2u);
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("late"); }, absl::Minutes(2)));
  EXPECT_GE(term(), 4);
  EXPECT_EQ(world_.Leader(), &world_.hosts[1]);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

class HaOfThreeTest : public HaTest {
 protected:
  HaOfThreeTest() : HaTest(3) {}
};

TEST_F(HaOfThreeTest, LeadersMayFallOneAfterTheOther) {
  LeadAndTrain();
  for (int i = 0; i < 4; ++i) {
    ReplicaWorld::Host& leader = *world_.Leader();
    world_.Kill(leader, absl::Seconds(10));
    ASSERT_TRUE(world_.RunUntil([&] { return world_.Leader() != nullptr; }, absl::Seconds(30)));
  }
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Succeeded("gpt"); }, absl::Minutes(3)));
  EXPECT_EQ(world_.Job("gpt").status.round(), 1);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

}  // namespace
}  // namespace muster::control
