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
// fast matrix products, and little enough that allocators keep the memory from chunk to chunk. A
// GPU takes 512 MiB in BF16, because each chunk costs it a pass over the gradient of the head's
// weight, and rows that are a multiple of what its matrix products compute at once.
inline int64_t LogitsRows(int64_t rows, int64_t vocabulary, LogitsPlace place = LogitsPlace::kCpu) {
  const bool gpu = place == LogitsPlace::kGpu;
  const int64_t elements = int64_t{1} << (gpu ? 28 : 23), multiple = gpu ? 256 : 1;
  constexpr int64_t kFewestRows = 32;
  const int64_t most =
      std::max(elements / vocabulary / multiple * multiple, std::max(kFewestRows, multiple));
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  const int64_t alike = (rows + chunks - 1) / chunks;
  return std::min((alike + multiple - 1) / multiple * multiple, rows);
}

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_LOGITS_ROWS_H_
