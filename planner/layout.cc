#include "planner/layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace muster::planner {

int RanksOf(const v1alpha1::WorkersSpec& workers) {
  return std::max(1, workers.gpus() > 0 ? workers.gpus() : workers.ranks());
}

v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks) {
  int shard = 1;
  if (parallelism.zero() > 0) {
    shard = parallelism.has_shard() ? std::clamp(parallelism.shard(), 1, ranks) : ranks;
  }
  while (ranks % shard != 0) ++shard;
  v1alpha1::Mesh mesh;
  mesh.set_data(ranks / shard);
  mesh.set_shard(shard);
  return mesh;
}

int WorkersThatForm(const v1alpha1::ParallelismSpec& parallelism, int ranks_of_worker,
                    int workers) {
  if (workers < 1) return 0;
  if (parallelism.zero() == 0 || parallelism.shard() <= 1) return workers;
  const int64_t shard = parallelism.shard();
  const int64_t ranks_each = std::max(1, ranks_of_worker);
  const int64_t step = shard / std::gcd(shard, ranks_each);
  if (const int64_t whole = workers - workers % step; whole > 0) return static_cast<int>(whole);
  const int64_t least = parallelism.has_min_shard() ? parallelism.min_shard() : shard;
  return workers * ranks_each >= least ? workers : 0;
}

}  // namespace muster::planner
