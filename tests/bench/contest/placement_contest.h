#ifndef MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_
#define MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"

// Generated placement problems, several ways to solve them, and their scores. Gangs arrive one
// after the other at a cluster that is already fragmented. Everything is deterministic. A node's
// use is in whole GPUs, each with the same share of CPU and memory.
namespace muster::control {

struct Contest {
  Inventory inventory;
  std::vector<GangRequest> gangs;
};

// The node of each worker, by gang. A gang without nodes is not placed.
using Places = std::vector<std::vector<std::string>>;

// The resources of a pod with `gpus` GPUs: their share of a node's CPU and memory.
Resources WithGpus(int64_t gpus);

// 12 nodes of 8 GPUs in 4 leaves under 2 spines, 8 gangs: small enough for an exact answer.
Contest SmallContest(uint64_t seed);
// 1,024 nodes of 8 GPUs in 64 leaves under 4 spines, 200 gangs of 1 to 512 GPUs.
Contest LargeContest(uint64_t seed);

// Calls Place() for one gang after the other, each on what the earlier ones left.
Places PlaceInTurn(const Contest& contest);
// Puts each worker on a random node with room; all workers of a gang or none.
Places PlaceAtRandom(const Contest& contest, uint64_t seed);

struct Outcome {
  double score = 0;  // mean over all gangs; a gang that is not placed counts 0
  int placed = 0;
};
// Returns InvalidArgument if a GPU is promised twice or a gang is placed only in part.
absl::StatusOr<Outcome> ScoreContest(const Contest& contest, const Places& places);

// An upper bound of the mean score: each gang is placed as if it were the only one.
double ScoreBound(const Contest& contest);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_
