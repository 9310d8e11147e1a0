#include "trainer/model/sequence_order.h"

#include <algorithm>

namespace muster::trainer {

int64_t SequenceMultiple(ContextExchange exchange, int ranks) {
  return exchange == ContextExchange::kRing && ranks > 1 ? 2 * ranks : ranks;
}

std::vector<ElementRun> RunsOfSequence(ContextExchange exchange, int rank, int ranks,
                                       int64_t sequence) {
  const int64_t run = sequence / SequenceMultiple(exchange, ranks);
  if (exchange == ContextExchange::kHeads || ranks == 1) return {{rank * run, run}};
  return {{rank * run, run}, {(2 * ranks - 1 - rank) * run, run}};
}

std::vector<ElementRun> SomeOf(const std::vector<ElementRun>& runs, int64_t begin, int64_t count) {
  std::vector<ElementRun> out;
  int64_t earlier = 0;  // elements of the runs before this one
  for (const ElementRun& run : runs) {
    const int64_t from = std::clamp(begin - earlier, int64_t{0}, run.count);
    const int64_t to = std::clamp(begin + count - earlier, int64_t{0}, run.count);
    if (to > from) out.push_back({run.begin + from, to - from});
    earlier += run.count;
  }
  return out;
}

}  // namespace muster::trainer
