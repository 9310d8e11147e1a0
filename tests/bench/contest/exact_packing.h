#ifndef MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_
#define MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_

#include <cstdint>
#include <optional>

#include "tests/bench/contest/placement_contest.h"

namespace muster::control {

// The highest mean score that the gangs of a contest can have together, whatever their order and
// with all of them known beforehand: branch and bound over every split of every gang, with states
// that differ only in the names of nodes taken for one. Only GPUs are counted. Gangs are of one
// size, without levels and slices. Empty: not found within `budget` states.
std::optional<Places> PlaceExactly(const Contest& contest, int64_t budget);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_EXACT_PACKING_H_
