#include "operator/core/state/growth_sizes.h"

#include <algorithm>
#include <cstdint>

#include "operator/core/state/spec_values.h"
#include "planner/layout.h"

namespace muster::control {

using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainingJobStatus;

namespace {

int WorkersOfSlice(const TrainingJobSpec& spec) {
  const bool has_slices = spec.topology().slices_size() > 0;
  return has_slices ? std::max(1, spec.topology().slices(0).workers()) : 1;
}

std::vector<int> SizesWithSpares(const TrainingJobSpec& spec) {
  std::vector<int> sizes;
  const int count = WorkerCount(spec);
  for (int size = count + 1; size <= count + SpareCount(spec); ++size) {
    if (size % WorkersOfSlice(spec) == 0) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

double RelativeStepTime(const TrainingJobSpec& spec, int workers) {
  if (!spec.has_trainer()) return 1.0 / std::max(1, workers);
  const v1alpha1::TrainSpec& train = spec.trainer().train();
  const int64_t all = train.global_batch() / std::max(1, train.micro_batch());
  const int64_t ranks = int64_t{std::max(1, workers)} * planner::RanksOf(spec.workers());
  const int64_t sharing =
      std::max<int64_t>(1, ranks / planner::RanksOfMicroBatch(spec.trainer().parallelism()));
  return static_cast<double>(std::max<int64_t>(1, (all + sharing - 1) / sharing));
}

std::vector<int> LargerSizes(const TrainingJobSpec& spec) {
  std::vector<int> sizes;
  if (!GrowsByItself(spec)) return SizesWithSpares(spec);
  const int ranks = planner::RanksOf(spec.workers());
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  const int64_t shard = (parallelism.has_shard() ? std::max(1, parallelism.shard()) : 1) *
                        planner::RanksOfMicroBatch(parallelism);
  const int slice = WorkersOfSlice(spec);
  double shortest = RelativeStepTime(spec, WorkerCount(spec));
  for (int size = WorkerCount(spec) + 1; size <= MaxWorkers(spec); ++size) {
    if (int64_t{size} * ranks % shard != 0 || size % slice != 0) continue;
    const double step = RelativeStepTime(spec, size);
    if (step >= shortest) continue;
    shortest = step;
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<int> SizesUpToCount(const TrainingJobSpec& spec) {
  std::vector<int> sizes;
  for (int size = MinWorkers(spec); size <= WorkerCount(spec); ++size) {
    const bool forms = WorkersThatForm(spec, size) == size && size % WorkersOfSlice(spec) == 0;
    if (forms) sizes.push_back(size);
  }
  return sizes;
}

int LargestUpTo(const std::vector<int>& sizes, int size) {
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), size);
  return above == sizes.begin() ? 0 : *(above - 1);
}

int GrantedSize(const TrainingJobSpec& spec, const TrainingJobStatus& status) {
  const int granted = status.elastic().workers();
  return granted == 0 ? 0 : LargestUpTo(LargerSizes(spec), granted);
}

int RequestedSize(const TrainingJobSpec& spec, const TrainingJobStatus& status) {
  const int kept = status.elastic().kept();
  return kept == 0 ? WorkerCount(spec) : std::min(kept, WorkerCount(spec));
}

std::vector<int> OfferedSizes(const std::vector<int>& larger, const TrainingJobStatus& status) {
  const v1alpha1::ElasticStatus& elastic = status.elastic();
  std::vector<int> offered;
  for (const int size : larger) {
    const bool wanted = size >= elastic.least() && size <= elastic.wanted();
    if (wanted || size <= elastic.workers()) offered.push_back(size);
  }
  return offered;
}

}  // namespace muster::control
