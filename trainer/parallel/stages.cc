#include "trainer/parallel/stages.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

// Returns the first blocks of runs that cost at most `most` each, cut from the end so that later
// runs have as many blocks as they can, with a block left for every run before; empty if there is
// no such cut.
std::vector<int> CutAt(std::span<const int64_t> costs, int runs, int64_t most) {
  std::vector<int> firsts(static_cast<size_t>(runs));
  int end = static_cast<int>(costs.size());
  for (int run = runs - 1; run >= 0; --run) {
    int first = end;
    int64_t cost = 0;
    while (first > run && cost + costs[static_cast<size_t>(first - 1)] <= most) {
      cost += costs[static_cast<size_t>(--first)];
    }
    if (first == end) return {};
    firsts[static_cast<size_t>(run)] = first;
    end = first;
  }
  return end == 0 ? firsts : std::vector<int>();
}

}  // namespace

absl::StatusOr<StageCut> StageCut::Make(std::span<const int64_t> costs, int stages, int chunks,
                                        StageForm form) {
  const int blocks = static_cast<int>(costs.size());
  const int64_t runs = int64_t{stages} * chunks;
  if (stages < 1 || chunks < 1 || runs > blocks) {
    const std::string of_chunks = chunks == 1 ? "" : absl::StrCat(" with ", chunks, " chunks each");
    return absl::InvalidArgumentError(
        absl::StrCat("a pipeline of ", stages, " stages", of_chunks, " for a model of ", blocks,
                     " blocks: each ", chunks == 1 ? "stage" : "chunk", " has at least one, so up ",
                     "to ", blocks / std::max(1, chunks), " would do"));
  }
  int64_t low = *std::max_element(costs.begin(), costs.end());
  int64_t high = std::accumulate(costs.begin(), costs.end(), int64_t{0});
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (CutAt(costs, static_cast<int>(runs), middle).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  StageCut cut;
  cut.firsts_ = CutAt(costs, static_cast<int>(runs), low);
  cut.stages_ = stages;
  cut.form_ = form;
  cut.blocks_ = blocks;
  return cut;
}

int StageCut::RunOfBlock(int block) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), block);
  return static_cast<int>(after - firsts_.begin()) - 1;
}

}  // namespace muster::trainer
