#ifndef MUSTER_TRAINER_MODEL_PARAMETER_H_
#define MUSTER_TRAINER_MODEL_PARAMETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/partition.h"

namespace muster::trainer {

// The initial values of a parameter. Normal numbers are drawn per tensor name, so every rank draws
// the same.
struct Initialization {
  enum class Kind { kZeros, kOnes, kNormal };
  Kind kind = Kind::kZeros;
  double deviation = 0.0;

  bool operator==(const Initialization&) const = default;
};

// One trainable tensor. Blocks that declare the same name share one tensor (tied weights).
struct ParameterSpec {
  std::string name;  // as Hugging Face names it
  std::vector<int64_t> shape;
  Initialization init;
  bool decay = false;  // whether weight decay applies
  Partition partition;

  bool operator==(const ParameterSpec&) const = default;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_PARAMETER_H_
