#ifndef MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_
#define MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_

#include <cstdint>
#include <vector>

#include "trainer/random/element_run.h"

namespace muster::trainer {

// How attention reaches the tokens that other ranks of the context axis have.
enum class ContextExchange {
  // Each rank gets the whole sequence for some of the heads, and gives away its tokens for the
  // other heads (Jacobs et al., 2023, "DeepSpeed Ulysses", section 3). Rank r of n has run r of n
  // equal runs.
  kHeads,
  // Keys and values go around a ring of the ranks (Liu et al., 2023, "Ring attention with blockwise
  // transformers for near-infinite context"). Rank r of n has the runs r and 2n - 1 - r of 2n equal
  // runs. Late queries attend to more keys than early ones, so this gives all ranks equal work.
  kRing,
};

// The functions below are pure.

// Returns the number that must divide the length of a sequence, so that `ranks` ranks can share it.
int64_t SequenceMultiple(ContextExchange exchange, int ranks);

// Returns the positions that rank `rank` of `ranks` has of a sequence of `sequence` tokens, as runs
// in ascending order. Requires that SequenceMultiple() divides `sequence`.
std::vector<ElementRun> RunsOfSequence(ContextExchange exchange, int rank, int ranks,
                                       int64_t sequence);

// Puts `runs` one after the other into a list of elements, and returns its elements [begin, begin +
// count), as runs of the original numbers. Elements past the end of the list are left out.
std::vector<ElementRun> SomeOf(const std::vector<ElementRun>& runs, int64_t begin, int64_t count);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_SEQUENCE_ORDER_H_
