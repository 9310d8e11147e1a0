#include "trainer/parallel/stages.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

// Returns the first blocks of stages that cost at most `most` each, cut from the end so that later
// stages have as many blocks as they can, with a block left for every stage before; empty if there
// is no such cut.
std::vector<int> CutAt(std::span<const int64_t> costs, int stages, int64_t most) {
  std::vector<int> firsts(static_cast<size_t>(stages));
  int end = static_cast<int>(costs.size());
  for (int stage = stages - 1; stage >= 0; --stage) {
    int first = end;
    int64_t cost = 0;
    while (first > stage && cost + costs[static_cast<size_t>(first - 1)] <= most) {
      cost += costs[static_cast<size_t>(--first)];
    }
    if (first == end) return {};
    firsts[static_cast<size_t>(stage)] = first;
    end = first;
  }
  return end == 0 ? firsts : std::vector<int>();
}

}  // namespace

absl::StatusOr<StageCut> StageCut::Make(std::span<const int64_t> costs, int stages) {
  const int blocks = static_cast<int>(costs.size());
  if (stages < 1 || stages > blocks) {
    return absl::InvalidArgumentError(absl::StrCat("a pipeline of ", stages,
                                                   " stages for a model of ", blocks,
                                                   " blocks: each stage has at "
                                                   "least one, so up to ",
                                                   blocks, " would do"));
  }
  int64_t low = *std::max_element(costs.begin(), costs.end());
  int64_t high = std::accumulate(costs.begin(), costs.end(), int64_t{0});
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (CutAt(costs, stages, middle).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  StageCut cut;
  cut.firsts_ = CutAt(costs, stages, low);
  cut.blocks_ = blocks;
  return cut;
}

int StageCut::StageOf(int block) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), block);
  return static_cast<int>(after - firsts_.begin()) - 1;
}

}  // namespace muster::trainer
