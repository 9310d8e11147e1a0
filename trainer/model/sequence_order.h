#ifndef MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_
#define MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_

#include <cstdint>
#include <vector>

#include "trainer/random/element_run.h"

namespace muster::trainer {

// How attention reaches the tokens that other ranks of the context axis have.
enum class ContextExchange {
  // Ranks exchange runs of the sequence for heads, so that each attends with some heads over the
  // whole sequence (Jacobs et al., 2023, "DeepSpeed Ulysses", section 3). A rank has one run of the
  // sequence.
  kHeads,
  // Keys and values go around a ring of the ranks (Liu et al., 2023, "Ring attention with blockwise
  // transformers for near-infinite context"). A rank has two runs, one early and one late, because
  // late queries attend to more keys than early ones: all ranks then compute as much.
  kRing,
};

// Returns the number by which a sequence must be divisible for so many ranks.
int64_t SequenceMultiple(ContextExchange exchange, int ranks);

// Returns the runs of a sequence that one of `ranks` has, ascending. Requires that
// SequenceMultiple() divides the sequence.
std::vector<ElementRun> RunsOfSequence(ContextExchange exchange, int rank, int ranks,
                                       int64_t sequence);

// Returns where the elements [begin, begin + count) lie of those that `runs` list, one run after
// the other.
std::vector<ElementRun> SomeOf(const std::vector<ElementRun>& runs, int64_t begin, int64_t count);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_
