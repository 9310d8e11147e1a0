#include "planner/layout.h"

#include <algorithm>

namespace muster::planner {

int RanksOf(const v1alpha1::WorkersSpec& workers) {
  return std::max(1, workers.gpus() > 0 ? workers.gpus() : workers.ranks());
}

v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks) {
  int shard = 1;
  if (parallelism.zero() > 0) {
    shard = parallelism.has_shard() ? std::min(parallelism.shard(), ranks) : ranks;
  }
  while (ranks % shard != 0) --shard;
  v1alpha1::Mesh mesh;
  mesh.set_data(ranks / shard);
  mesh.set_shard(shard);
  return mesh;
}

}  // namespace muster::planner
