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

int PipelineOf(const v1alpha1::ParallelismSpec& parallelism) {
  return std::max(1, parallelism.pipeline());
}

int ChunksOf(const v1alpha1::ParallelismSpec& parallelism) {
  return parallelism.schedule() == "ZeroBubbleV" ? 2 : std::max(1, parallelism.chunks());
}

int ContextOf(const v1alpha1::ParallelismSpec& parallelism) {
  return std::max(1, parallelism.context());
}

int RanksOfMicroBatch(const v1alpha1::ParallelismSpec& parallelism) {
  return TensorOf(parallelism) * ContextOf(parallelism) * PipelineOf(parallelism);
}

int ShardOf(const v1alpha1::ParallelismSpec& parallelism) {
  return parallelism.zero() > 0 ? std::max(1, parallelism.shard()) : 1;
}

v1alpha1::Mesh LayOutRanks(const v1alpha1::ParallelismSpec& parallelism, int ranks) {
  const int workers = std::max(1, ranks / RanksOfMicroBatch(parallelism));
  int shard = 1;
  if (parallelism.zero() > 0) {
    shard = parallelism.has_shard() ? std::clamp(parallelism.shard(), 1, workers) : workers;
  }
  while (workers % shard != 0) ++shard;
  v1alpha1::Mesh mesh;
  mesh.set_data(workers / shard);
  mesh.set_shard(shard);
  if (const int tensor = TensorOf(parallelism); tensor > 1) mesh.set_tensor(tensor);
  if (const int context = ContextOf(parallelism); context > 1) mesh.set_context(context);
  if (const int pipeline = PipelineOf(parallelism); pipeline > 1) mesh.set_pipeline(pipeline);
  return mesh;
}

v1alpha1::StateSlice SliceOfRank(const v1alpha1::Mesh& mesh, int rank) {
  const int tensor = std::max(1, mesh.tensor()), shard = std::max(1, mesh.shard());
  const int pipeline = std::max(1, mesh.pipeline()), data = std::max(1, mesh.data());
  const int together = tensor * std::max(1, mesh.context());
  const int stage = rank / (together * shard * data) % pipeline;
  v1alpha1::StateSlice slice;
  slice.set_shard((stage * tensor + rank % tensor) * shard + rank / together % shard);
  slice.set_shards(pipeline * tensor * shard);
  if (tensor > 1) slice.set_parts(tensor);
  if (pipeline > 1) slice.set_stages(pipeline);
  return slice;
}

int WorkersThatForm(const v1alpha1::ParallelismSpec& parallelism, int ranks_of_worker,
                    int workers) {
  if (workers < 1) return 0;
  // The ranks of a context group may be on several workers, those of a tensor group are on one.
  const int64_t groups_each = std::max(1, ranks_of_worker / TensorOf(parallelism));
  const int64_t together = int64_t{PipelineOf(parallelism)} * ContextOf(parallelism);
  // Returns the most workers whose groups are a multiple of that.
  const auto most = [&](int64_t multiple) {
    return workers - workers % (multiple / std::gcd(multiple, groups_each));
  };
  const int64_t shard = ShardOf(parallelism);
  if (const int64_t whole = most(together * shard); whole > 0) return static_cast<int>(whole);
  const int64_t filled = most(together);
  const int64_t least = parallelism.has_min_shard() ? parallelism.min_shard() : shard;
  return filled * groups_each / together >= least ? static_cast<int>(filled) : 0;
}

}  // namespace muster::planner
