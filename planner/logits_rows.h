#ifndef MUSTER_PLANNER_LOGITS_ROWS_H_
#define MUSTER_PLANNER_LOGITS_ROWS_H_

#include <algorithm>
#include <cstdint>

namespace muster::planner {

// Returns how many of `rows` tokens have their logits in memory at once: a function of the shape
// alone, so that a micro-batch's numbers do not depend on where it is computed. All chunks but the
// last have that many. 32 MiB in FP32 are enough rows for fast matrix products, and little enough
// that allocators keep the memory from chunk to chunk.
inline int64_t LogitsRows(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kElements = int64_t{1} << 23;
  constexpr int64_t kFewestRows = 32;
  const int64_t most = std::max(kElements / vocabulary, kFewestRows);
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  return (rows + chunks - 1) / chunks;
}

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LOGITS_ROWS_H_
