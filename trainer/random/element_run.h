#ifndef MUSTER_TRAINER_RANDOM_ELEMENT_RUN_H_
#define MUSTER_TRAINER_RANDOM_ELEMENT_RUN_H_

#include <cstdint>

namespace muster::trainer {

// Neighbouring elements of a tensor, numbered in the order of its memory as a whole.
struct ElementRun {
  int64_t begin = 0;
  int64_t count = 0;

  bool operator==(const ElementRun&) const = default;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_RANDOM_ELEMENT_RUN_H_
