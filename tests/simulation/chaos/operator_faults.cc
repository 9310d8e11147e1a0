// Faults of operator processes, and of what they see of the API server.
#include <string>

#include "tests/simulation/chaos/faults.h"

namespace muster::control {
namespace {

using Host = ReplicaWorld::Host;

bool KillsLeader(ChaosWorld& chaos) {
  Host* leader = chaos.world.Leader();
  if (leader == nullptr) return false;
  chaos.world.Kill(*leader, chaos.Seconds(1, 20));
  return true;
}

bool KillsAll(ChaosWorld& chaos) {
  for (Host& host : chaos.world.hosts) {
    if (host.alive) chaos.world.Kill(host, chaos.Seconds(1, 30));
  }
  return true;
}

bool StopsLeaderCleanly(ChaosWorld& chaos) {
  Host* leader = chaos.world.Leader();
  // Without an election there is no lease to release.
  if (leader == nullptr) return false;
  chaos.world.Stop(*leader, chaos.Seconds(1, 20));
  return true;
}

bool KillsAtWrite(ChaosWorld& chaos, bool before) {
  const absl::Duration downtime = chaos.Seconds(1, 20);
  chaos.StrikeNextWrite(chaos.Number(1, 6), before,
                        [&chaos, downtime](Host& host) { chaos.world.Kill(host, downtime); });
  return true;
}
bool KillsBeforeWrite(ChaosWorld& chaos) { return KillsAtWrite(chaos, true); }
bool KillsAfterWrite(ChaosWorld& chaos) { return KillsAtWrite(chaos, false); }

void FreezeFor(ChaosWorld& chaos, Host& host, absl::Duration length) {
  const int64_t process = host.process;
  host.frozen = true;
  chaos.Later(length, [&host, process] {
    if (host.process == process) host.frozen = false;
  });
}

bool FreezesLeader(ChaosWorld& chaos) {
  Host* leader = chaos.world.Leader();
  if (leader == nullptr) return false;
  FreezeFor(chaos, *leader, chaos.Seconds(2, 40));
  return true;
}

// Another replica leads meanwhile, and the first goes on in the middle of its write.
bool FreezesInsideWrite(ChaosWorld& chaos) {
  const absl::Duration length = chaos.Seconds(5, 30);
  chaos.StrikeNextWrite(chaos.Number(1, 4), chaos.OneIn(2),
                        [&chaos, length](Host& host) { chaos.world.Freeze(host, length); });
  return true;
}

bool CutsLease(ChaosWorld& chaos) {
  const Host* leader = chaos.world.Leader();
  if (leader == nullptr) return false;
  chaos.lease_cut_host = leader->number;
  chaos.lease_cut_until = chaos.world.clock.Monotonic() + chaos.Seconds(5, 40);
  return true;
}

// The process believes for longer that it leads than its lease lasts.
bool SlowsClock(ChaosWorld& chaos) {
  Host* leader = chaos.world.Leader();
  if (leader == nullptr) return false;
  leader->pace = 0.5;  // from its next start on
  chaos.clocks_differ = true;
  chaos.world.Kill(*leader, chaos.Seconds(1, 5));
  Host* slow = leader;
  chaos.Later(absl::Seconds(40), [slow] { slow->pace = 1; });
  return true;
}

bool SilencesWatch(ChaosWorld& chaos) {
  Host* host = chaos.AnyHost();
  const int which = chaos.Number(0, 2);
  host->held[which] = true;
  chaos.Later(chaos.Seconds(3, 30), [host, which] { host->held[which] = false; });
  return true;
}

// The next leader has seen nothing for a while when the leader dies.
bool KillsLeaderOverStaleStandby(ChaosWorld& chaos) {
  Host* leader = chaos.world.Leader();
  if (leader == nullptr || chaos.world.count() < 2) return false;
  for (Host& host : chaos.world.hosts) {
    if (&host == leader) continue;
    host.held = {true, true, true};
    Host* standby = &host;
    chaos.Later(absl::Seconds(30), [standby] { standby->held = {false, false, false}; });
  }
  const int number = leader->number;
  chaos.Later(absl::Seconds(8),
              [&chaos, number] { chaos.world.Kill(chaos.world.hosts[number], absl::Seconds(30)); });
  return true;
}

bool CompactsHistory(ChaosWorld& chaos) {
  chaos.world.memory->CompactHistory();
  return true;
}

bool Disturbs(ChaosWorld& chaos, double kube::FaultPolicy::* what, double chance) {
  kube::FaultPolicy policy;
  policy.seed = chaos.seed;
  policy.*what = chance;
  chaos.world.faulty->SetPolicy(policy);
  chaos.Later(chaos.Seconds(3, 20),
              [&chaos] { chaos.world.faulty->SetPolicy({.seed = chaos.seed}); });
  return true;
}
bool Conflicts(ChaosWorld& chaos) { return Disturbs(chaos, &kube::FaultPolicy::conflict, 0.3); }
bool Unavailable(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::unavailable, 0.3);
}
bool TimesOutBefore(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::timeout_before, 0.3);
}
bool TimesOutAfter(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::timeout_after, 0.3);
}
bool TooBusy(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::too_many_requests, 0.3);
}
bool ClosesWatches(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::watch_closed, 0.1);
}
bool ExpiresWatches(ChaosWorld& chaos) {
  return Disturbs(chaos, &kube::FaultPolicy::watch_expired, 0.1);
}

bool Vanishes(ChaosWorld& chaos) {
  kube::FaultPolicy policy;
  policy.seed = chaos.seed;
  policy.unavailable = 1;
  policy.watch_closed = 1;
  policy.max_in_a_row = 1 << 30;
  chaos.world.faulty->SetPolicy(policy);
  chaos.Later(chaos.Seconds(2, 30),
              [&chaos] { chaos.world.faulty->SetPolicy({.seed = chaos.seed}); });
  return true;
}

bool StepsWallClock(ChaosWorld& chaos) {
  chaos.clocks_differ = true;
  chaos.world.clock.StepWall(chaos.Seconds(-120, 120));
  return true;
}

}  // namespace

const std::vector<FaultKind>& OperatorFaults() {
  static const auto* faults = new std::vector<FaultKind>{
      {"leader killed", KillsLeader},
      {"all operators killed", KillsAll},
      {"leader stopped cleanly", StopsLeaderCleanly},
      {"operator killed before a write", KillsBeforeWrite},
      {"operator killed after a write", KillsAfterWrite},
      {"leader frozen", FreezesLeader},
      {"operator frozen inside a write", FreezesInsideWrite},
      {"lease out of reach", CutsLease},
      {"leader restarted with a slow clock", SlowsClock},
      {"watch silent", SilencesWatch},
      {"leader killed over a stale standby", KillsLeaderOverStaleStandby},
      {"API history compacted", CompactsHistory},
      {"API conflicts", Conflicts},
      {"API unavailable at times", Unavailable},
      {"API calls lost", TimesOutBefore},
      {"API answers lost", TimesOutAfter},
      {"API too busy", TooBusy},
      {"watches closed", ClosesWatches},
      {"watches expired", ExpiresWatches},
      {"API gone", Vanishes},
      {"wall clock stepped", StepsWallClock},
  };
  return *faults;
}

}  // namespace muster::control
