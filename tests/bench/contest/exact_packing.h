#ifndef MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_
#define MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_

#include <cstdint>
#include <optional>

#include "tests/bench/contest/placement_contest.h"

namespace muster::control {

// Finds places with the highest possible mean score, with all gangs known beforehand and in any
// order. Branch and bound over every split of every gang; states that differ only in the names of
// nodes count as one. Only GPUs are considered. Gangs must have a fixed size and no topology levels
// or slices. Returns nullopt if `budget` states do not suffice.
std::optional<Places> PlaceExactly(const Contest& contest, int64_t budget);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_
