// Tests the discipline of a controller, whatever it observes: events lost, merged, repeated and out
// of order, caches that lag, calls that fail, a process that dies after any write.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

// The part of the final state that must not depend on the order of events.
std::string Outcome(const ReplicaWorld& world) {
  const TrainingJob job = world.Job("gpt");
  std::vector<std::string> pods;
  for (const Json& pod : world.Pods()) pods.push_back(kube::NameOf(pod));
  return absl::StrCat("state ", job.status.state(), " round ", job.status.round(), " term ",
                      job.status.term(), " incarnations ",
                      absl::StrJoin(job.status.incarnations(), ","), " failures ",
                      job.status.failures().count(), " observed ", job.status.observed_generation(),
                      " pods ", absl::StrJoin(pods, ","));
}

class DisciplineTest : public testing::Test {
 protected:
  DisciplineTest() { world_.AddNode("node-1", 8); }

  ReplicaWorld::Host& host() { return world_.hosts[0]; }
  bool RunToTheEnd(ReplicaWorld& world, absl::Duration limit = absl::Minutes(5)) {
    return world.RunUntil([&] { return world.Succeeded("gpt"); }, limit);
  }

  ReplicaWorld world_{{.seed = 1, .election = false}};
};

TEST_F(DisciplineTest, AnyOrderOfEventsEndsInTheSameState) {
  world_.CreateJob("gpt");
  ASSERT_TRUE(RunToTheEnd(world_));
  const std::string expected = Outcome(world_);
  EXPECT_EQ(expected,
            "state Succeeded round 1 term 1 incarnations 1,1 failures 0 observed 1 "
            "pods gpt-0-1,gpt-1-1");
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    ReplicaWorld world({.seed = seed, .election = false});
    kube::FaultPolicy policy;
    policy.seed = seed;
    policy.watch_closed = 0.1;   // events arrive later, together
    policy.watch_expired = 0.1;  // events are lost and the state is listed again
    world.faulty->SetPolicy(policy);
    world.AddNode("node-1", 8);
    world.CreateJob("gpt");
    ASSERT_TRUE(world.RunUntil(
        [&] {
          ReplicaWorld::Host& host = world.hosts[0];
          const int reflector = world.Number(0, 2);
          // Holding back one type makes its events arrive after later events of the others.
          host.held[reflector] = world.Number(0, 3) > 0;
          // A new list delivers every object again.
          if (host.alive && world.Number(0, 9) == 0) {
            host.replica->reflectors()[reflector]->ListAfter(world.clock.Monotonic());
          }
          return world.Succeeded("gpt");
        },
        absl::Minutes(5)))
        << seed;
    EXPECT_EQ(Outcome(world), expected) << seed;
    EXPECT_THAT(world.promises.broken(), IsEmpty()) << seed;
  }
}

TEST_F(DisciplineTest, FailingCallsCostNothingButTime) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    ReplicaWorld world({.seed = seed, .election = false});
    kube::FaultPolicy policy;
    policy.seed = seed;
    policy.conflict = policy.unavailable = policy.timeout_before = policy.timeout_after = 0.05;
    policy.too_many_requests = 0.05;
    world.faulty->SetPolicy(policy);
    world.AddNode("node-1", 8);
    world.CreateJob("gpt");
    EXPECT_TRUE(RunToTheEnd(world)) << seed;
    EXPECT_THAT(world.promises.broken(), IsEmpty()) << seed;
    EXPECT_EQ(world.Job("gpt").status.failures().count(), 0) << seed;
  }
}

// The store is then newer than the last write that the operator remembers. This must not be
// mistaken for a status that an older definition has truncated, which would stall the job and
// restart its rounds.
TEST_F(DisciplineTest, AStatusWriteWhoseAnswerIsLostCounts) {
  for (int unheard = 1; unheard <= 8; ++unheard) {
    ReplicaWorld world({.seed = 5, .election = false});
    int writes = 0;
    world.SetCallFaults(nullptr, [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
      const bool status =
          call.verb == kube::Verb::kUpdateStatus && call.type == kube::kTrainingJobs;
      return status && ++writes == unheard ? absl::DeadlineExceededError("no answer")
                                           : absl::OkStatus();
    });
    world.AddNode("node-1", 8);
    world.CreateJob("gpt");
    EXPECT_TRUE(RunToTheEnd(world)) << unheard;
    EXPECT_THAT(world.promises.broken(), IsEmpty()) << unheard;
    for (const Json& event : world.Events()) {
      EXPECT_NE(kube::StringAt(event, {"reason"}), "StatusNotStored") << unheard;
    }
  }
}

// Another writer intervenes between every read and write of the operator, for ever.
TEST_F(DisciplineTest, ConflictsWithoutEndAreReportedAndRetriedLessOften) {
  int refused = 0;
  world_.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        if (call.verb != kube::Verb::kUpdateStatus) return absl::OkStatus();
        ++refused;
        return kube::ApiError(kube::Reason::kConflict, "the object has been modified");
      },
      nullptr);
  const auto said_within = [this](absl::Duration length) {
    SetLogLevel(LogLevel::kWarn);
    testing::internal::CaptureStderr();
    world_.RunFor(length);
    SetLogLevel(LogLevel::kOff);
    return testing::internal::GetCapturedStderr();
  };
  world_.CreateJob("gpt");
  EXPECT_EQ(said_within(absl::Seconds(1)), "") << "a few are how two writers meet";
  EXPECT_GE(refused, 3);
  EXPECT_THAT(said_within(absl::Minutes(2)),
              testing::AllOf(testing::HasSubstr("WARN reconcile failed"),
                             testing::HasSubstr("the object has been modified")));
  EXPECT_LE(refused, 15);
  world_.SetCallFaults(nullptr, nullptr);
  EXPECT_TRUE(RunToTheEnd(world_));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(DisciplineTest, AStaleCacheOfPodsNeverMakesASecondPod) {
  world_.Tick();
  host().held = {false, true, false};
  world_.CreateJob("gpt");
  int creates = 0;
  world_.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        creates += call.verb == kube::Verb::kCreate && call.type.plural == "pods";
        return absl::OkStatus();
      },
      nullptr);
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(creates, 2);
  host().held = {false, false, false};
  ASSERT_TRUE(RunToTheEnd(world_));
  EXPECT_EQ(creates, 2);
  EXPECT_EQ(world_.Job("gpt").status.incarnations(0), 1);
}

TEST_F(DisciplineTest, AStaleCacheOfJobsNeverDecidesTwice) {
  world_.CreateJob("gpt");
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Writes("create pods") == 2; }, absl::Seconds(5)));
  host().held = {true, false, false};
  world_.ForgetWrites();
  world_.RunFor(absl::Minutes(1));
  // Only the pending write may be made; none builds on a state that was never read back.
  EXPECT_LE(world_.Writes("update_status trainingjobs"), 1);
  EXPECT_EQ(world_.Writes("create pods"), 0);
  host().held = {false, false, false};
  EXPECT_TRUE(RunToTheEnd(world_));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(DisciplineTest, AStaleCacheOfPodsNeverDeletesTwice) {
  world_.CreateJob("gpt");
  world_.fleet->SetGrace(absl::Seconds(20));
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Job("gpt").status.state() == "Training"; },
                              absl::Seconds(20)));
  host().held = {false, true, false};
  int deletes = 0;
  world_.SetCallFaults(
      [&](ReplicaWorld::Host&, const kube::ApiCall& call) {
        deletes += call.verb == kube::Verb::kDelete && call.type.plural == "pods";
        return absl::OkStatus();
      },
      nullptr);
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "gpt"}).ok());
  for (int i = 0; i < 50; ++i) {
    world_.Tick();
    host().replica->Resync();
  }
  EXPECT_EQ(deletes, 2);
  host().held = {false, false, false};
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Job("gpt").uid.empty(); }, absl::Minutes(1)));
  EXPECT_EQ(deletes, 2);
}

TEST_F(DisciplineTest, AResyncHealsAMissedEvent) {
  world_.Tick();
  world_.CreateJob("gpt");
  // The job is in the cache, but its key was dropped from the work queue.
  host().replica->reflectors()[0]->RunOnce(absl::ZeroDuration());
  const auto key = host().replica->queue().TryGet();
  ASSERT_TRUE(key.has_value());
  host().replica->queue().Done(*key);
  world_.RunFor(absl::Minutes(9));
  EXPECT_TRUE(world_.Pods().empty());
  world_.RunFor(absl::Minutes(1) + absl::Seconds(5));
  EXPECT_EQ(world_.Pods().size(), 2u);
}

// Kills the process after its nth write, for every n that occurs; another one takes its place.
TEST_F(DisciplineTest, ACrashAfterAnyWriteIsHealed) {
  for (int nth = 1;; ++nth) {
    ReplicaWorld world({.seed = 7, .election = false});
    int writes = 0;
    world.SetCallFaults(nullptr, [&](ReplicaWorld::Host& host, const kube::ApiCall& call) {
      if (IsWrite(call.verb) && ++writes == nth) world.Kill(host, absl::Seconds(1));
      return absl::OkStatus();
    });
    world.AddNode("node-1", 8);
    world.CreateJob("gpt", {{"trainer", {{"train", {{"steps", 30}}}}}});
    ASSERT_TRUE(RunToTheEnd(world)) << "write " << nth;
    ASSERT_THAT(world.promises.broken(), IsEmpty()) << "write " << nth;
    if (writes < nth) break;
    ASSERT_LT(nth, 100);
  }
}

}  // namespace
}  // namespace muster::control
