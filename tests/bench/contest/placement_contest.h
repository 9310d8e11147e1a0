#ifndef MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_
#define MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"

// Gangs that come one after the other to a cluster that others have broken into pieces, and ways to
// place them. Everything is deterministic. A node's use is that of whole GPUs with as much CPU and
// memory each.
namespace muster::control {

struct Contest {
  Inventory inventory;
  std::vector<GangRequest> gangs;
};

// By gang, by worker: its node. A gang without nodes is not placed.
using Places = std::vector<std::vector<std::string>>;

// What `gpus` GPUs of a node take along.
Resources WithGpus(int64_t gpus);

// 12 nodes of 8 GPUs in 4 leaves of 2 spines, 8 gangs: small enough for an exact answer.
Contest SmallContest(uint64_t seed);
// 1,024 nodes of 8 GPUs in 64 leaves of 4 spines, 200 gangs of 1 to 512 GPUs.
Contest LargeContest(uint64_t seed);

// Place(), one gang after the other, each with what those before it left.
Places PlaceInTurn(const Contest& contest);
// Each worker on any node that has room; all of a gang or none.
Places PlaceAtRandom(const Contest& contest, uint64_t seed);

struct Outcome {
  double score = 0;  // the mean over all gangs; one that is not placed counts 0
  int placed = 0;
};
// kInvalidArgument if the places promise a GPU twice, or a gang is there in part.
absl::StatusOr<Outcome> Judged(const Contest& contest, const Places& places);

// No way to place all of them has a higher mean score: each gang as if it were the only one.
double ScoreBound(const Contest& contest);

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_CONTEST_PLACEMENT_CONTEST_H_
