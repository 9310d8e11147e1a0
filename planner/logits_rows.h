#ifndef MUSTER_PLANNER_LOGITS_ROWS_H_
#define MUSTER_PLANNER_LOGITS_ROWS_H_

#include <algorithm>
#include <cstdint>

namespace muster::planner {

// Where the loss is computed.
enum class LogitsPlace { kCpu, kGpu };

// Returns how many of `rows` tokens have their logits in memory at once: a function of the shape
// and the kind of device, so that a micro-batch's numbers do not depend on which CPU or GPU
// computes it. All chunks but the last have that many. On a CPU 32 MiB in FP32 are enough rows for
// fast matrix products, and little enough that allocators keep the memory from chunk to chunk; a
// GPU takes 512 MiB, because each chunk costs it a pass over the gradient of the head's weight.
inline int64_t LogitsRows(int64_t rows, int64_t vocabulary, LogitsPlace place = LogitsPlace::kCpu) {
  const int64_t elements = int64_t{1} << (place == LogitsPlace::kCpu ? 23 : 27);
  constexpr int64_t kFewestRows = 32;
  const int64_t most = std::max(elements / vocabulary, kFewestRows);
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  return (rows + chunks - 1) / chunks;
}

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LOGITS_ROWS_H_
