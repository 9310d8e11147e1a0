#include "planner/layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace muster::planner {

int RanksOf(const v1alpha1::WorkersSpec& workers) {
  return std::max(1, workers.gpus() > 0 ? workers.gpus() : workers.ranks());
}

int TensorOf(const v1alpha1::ParallelismSpec& parallelism) {
  return std::max(1, parallelism.tensor());
}

v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks) {
  const int tensor = TensorOf(parallelism);
  const int groups = std::max(1, ranks / tensor);
  int shard = 1;
  if (parallelism.zero() > 0) {
    shard = parallelism.has_shard() ? std::clamp(parallelism.shard(), 1, groups) : groups;
  }
  while (groups % shard != 0) ++shard;
  v1alpha1::Mesh mesh;
  mesh.set_data(groups / shard);
  mesh.set_shard(shard);
  if (tensor > 1) mesh.set_tensor(tensor);
  return mesh;
}

v1alpha1::StateSlice SliceOfRank(const v1alpha1::Mesh& mesh, int rank) {
  const int tensor = std::max(1, mesh.tensor()), shard = std::max(1, mesh.shard());
  v1alpha1::StateSlice slice;
  slice.set_shard(rank % tensor * shard + rank / tensor % shard);
  slice.set_shards(tensor * shard);
  if (tensor > 1) slice.set_parts(tensor);
  return slice;
}

int WorkersThatForm(const v1alpha1::ParallelismSpec& parallelism, int ranks_of_worker,
                    int workers) {
  if (workers < 1) return 0;
  if (parallelism.zero() == 0 || parallelism.shard() <= 1) return workers;
  const int64_t shard = parallelism.shard();
  const int64_t ranks_each = std::max(1, ranks_of_worker / TensorOf(parallelism));
  const int64_t step = shard / std::gcd(shard, ranks_each);
  if (const int64_t whole = workers - workers % step; whole > 0) return static_cast<int>(whole);
  const int64_t least = parallelism.has_min_shard() ? parallelism.min_shard() : shard;
  return workers * ranks_each >= least ? workers : 0;
}

}  // namespace muster::planner
