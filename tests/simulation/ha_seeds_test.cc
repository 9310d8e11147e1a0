// Kills a leader, freezes and thaws it, shuts it down, or lets two replicas believe that they lead,
// at a moment drawn by the seed: at the nth write of some kind, before it is sent or after it is
// done. The outcome must always be the same: every job ends as it should and no promise is broken.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

enum class Fault { kKilled, kFrozen, kStopped, kTwoBelieve };
enum class Point { kCreatePod, kBind, kOpenRound, kAnyStatus, kCheckpoint };

constexpr const char* kFaultNames[] = {"Killed", "Frozen", "Stopped", "TwoBelieve"};

struct Script {
  Fault fault;
  Point point;
  int nth;
  bool before;  // strikes before the call is sent, else after it is done
  absl::Duration length;
  bool agent_dies;
};

Script Draw(Fault fault, ReplicaWorld& world) {
  Script script;
  script.fault = fault;
  script.point = static_cast<Point>(world.Number(0, 4));
  script.nth = world.Number(1, 3);
  script.before = world.Number(0, 1) == 0;
  script.length = absl::Milliseconds(world.Number(2000, 40000));
  script.agent_dies = world.Number(0, 3) == 0;
  return script;
}

int64_t RoundIn(const Json& job) { return JobNumber(job, {"status", "round"}); }

bool IsAt(const Script& script, const ReplicaWorld& world, const kube::ApiCall& call) {
  const bool status = call.verb == kube::Verb::kUpdateStatus && call.type.plural == "trainingjobs";
  switch (script.point) {
    case Point::kCreatePod:
      return call.verb == kube::Verb::kCreate && call.type.plural == "pods";
    case Point::kBind:
      return call.verb == kube::Verb::kBind;
    case Point::kOpenRound:
      return status && call.object != nullptr && RoundIn(*call.object) > 0 &&
             world.Job(call.Key().name).status.round() <= RoundIn(*call.object);
    case Point::kAnyStatus:
      return status;
    case Point::kCheckpoint:
      return false;  // the operator makes no write at this point
  }
  return false;
}

class HaSeedsTest : public testing::TestWithParam<Fault> {
 protected:
  void Run(uint64_t seed) {
    ReplicaWorld world({.seed = seed, .replicas = seed % 2 == 0 ? 2 : 3});
    const Script script = Draw(GetParam(), world);
    int seen = 0;
    bool struck = false;
    auto strike = [&](ReplicaWorld::Host& host) {
      struck = true;
      switch (script.fault) {
        case Fault::kKilled:
          return world.Kill(host, script.length);
        case Fault::kFrozen:
        case Fault::kTwoBelieve:
          return world.Freeze(host, script.length);
        case Fault::kStopped:
          return world.Stop(host, script.length);
      }
    };
    absl::Time lease_is_out_of_reach = absl::InfiniteFuture();
    auto fate = [&](bool before) {
      return [&, before](ReplicaWorld::Host& host, const kube::ApiCall& call) -> absl::Status {
        const bool cut = script.fault == Fault::kTwoBelieve && host.number == 0 &&
                         host.process == 1 && call.type.plural == "leases" &&
                         world.clock.Monotonic() >= lease_is_out_of_reach;
        if (cut) return absl::UnavailableError("the lease is out of reach");
        if (struck || before != script.before || !IsAt(script, world, call))
          return absl::OkStatus();
        // A clean stop comes from a signal, never within a call, and with two believers no call is
        // struck.
        if (script.fault == Fault::kTwoBelieve || script.fault == Fault::kStopped) {
          return absl::OkStatus();
        }
        if (++seen == script.nth) strike(host);
        return absl::OkStatus();
      };
    };
    world.SetCallFaults(fate(true), fate(false));
    if (script.fault == Fault::kTwoBelieve) world.hosts[0].pace = 0.5;
    world.AddNode("node-1", 4);
    world.AddNode("node-2", 4);
    const TrainingJob job = world.CreateJob("gpt");
    world.RunFor(script.length / 4);
    const TrainingJob second = world.CreateJob("second");
    if (script.fault == Fault::kTwoBelieve) lease_is_out_of_reach = world.clock.Monotonic();
    if (script.fault == Fault::kStopped || script.point == Point::kCheckpoint) {
      world.RunUntil([&] { return world.promises.committed(job.uid) % 20 == 19; },
                     absl::Seconds(20));
      if (world.Leader() != nullptr && !struck && script.fault != Fault::kTwoBelieve) {
        strike(*world.Leader());
      }
    }
    // If two replicas believe that they lead, gives both something to act on: more workers, and a
    // new job.
    if (script.fault == Fault::kTwoBelieve) {
      world.RunUntil([&] { return world.Leaders().size() == 2; }, absl::Seconds(25));
      two_believed_ += world.Leaders().size() == 2;
      world.CreateJob("third");
      Json grown = *world.memory->Get(kube::kTrainingJobs, {"default", "gpt"});
      grown["spec"]["workers"]["count"] = 3;
      ASSERT_TRUE(world.memory->Update(kube::kTrainingJobs, grown).ok());
    }
    if (script.agent_dies) world.fleet->KillAgent(job.uid, world.Number(0, 1));
    const bool ended = world.RunUntil(
        [&] {
          return world.Succeeded("gpt") && world.Succeeded("second") &&
                 (script.fault != Fault::kTwoBelieve || world.Succeeded("third"));
        },
        absl::Minutes(5));
    EXPECT_TRUE(ended) << "seed " << seed << "\n" << world.Job("gpt").status.DebugString();
    EXPECT_EQ(absl::StrJoin(world.promises.broken(), "\n"), "") << "seed " << seed;
    struck_ += struck;
  }

  int struck_ = 0;
  int two_believed_ = 0;
};

TEST_P(HaSeedsTest, EndsAsItShouldWhateverTheMoment) {
  const int seeds = TestIterations({.sanitized = 15, .usual = 50, .full = 200});
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(seeds) && !HasFailure(); ++seed) Run(seed);
  // The fault must have struck often enough, or the test shows nothing.
  if (GetParam() == Fault::kTwoBelieve) {
    EXPECT_GE(two_believed_, seeds / 2);
  } else {
    EXPECT_GE(struck_, seeds * 3 / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, HaSeedsTest,
                         testing::Values(Fault::kKilled, Fault::kFrozen, Fault::kStopped,
                                         Fault::kTwoBelieve),
                         [](const auto& info) {
                           return std::string(kFaultNames[static_cast<int>(info.param)]);
                         });

}  // namespace
}  // namespace muster::control
