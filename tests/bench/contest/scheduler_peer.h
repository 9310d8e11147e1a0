#ifndef MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_
#define MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/contest/placement_contest.h"

namespace muster::control {

// Places the gangs as kube-scheduler's default profile does, pod by pod, with the real plugins and
// their default weights in the program of tests/testenv/modules/controlplane/filters. It has no
// notion of gangs: if one pod finds no node, the gang counts as not placed, but its other pods keep
// their nodes. `peer` is the program's path; its input and output are files in `folder`.
absl::StatusOr<Places> PlaceAsKubeScheduler(const Contest& contest, uint64_t seed,
                                            const std::string& peer, const std::string& folder);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_
