#ifndef MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_
#define MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/bench/contest/placement_contest.h"

namespace muster::control {

// Where kube-scheduler's default profile puts the gangs, pod by pod: the real plugins with their
// default weights, in the program of tests/testenv/modules/controlplane/filters. It knows no gangs:
// one of which a pod finds no node counts as not placed and keeps what its other pods got. `peer`
// is the program, `folder` takes what it is asked and answers.
absl::StatusOr<Places> PlaceAsKubeScheduler(const Contest& contest, uint64_t seed,
                                            const std::string& peer, const std::string& folder);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_SCHEDULER_PEER_H_
