#ifndef MUSTER_TRAINER_PARALLEL_UNIT_H_
#define MUSTER_TRAINER_PARALLEL_UNIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "c10/core/ScalarType.h"
#include "trainer/model/block.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {

// Owns the flat memory of one unit. Parameters are leaf views of `values`, their gradients views of
// `gradients`: autograd adds in place, so gradients are zeroed, never reset, and the views stay
// views for the life of the unit. Not thread-safe.
class Unit {
 public:
  Unit(UnitLayout layout, c10::ScalarType type);

  const UnitLayout& layout() const { return layout_; }
  const at::Tensor& values() const { return values_; }        // [elements]
  const at::Tensor& gradients() const { return gradients_; }  // [elements]
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  // Sets initial values, a function of seed and tensor names.
  void Initialize(uint64_t seed);
  // Returns Internal if a view is broken because its grad was replaced: training would silently use
  // stale gradients.
  absl::Status CheckViews() const;

 private:
  UnitLayout layout_;
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<at::Tensor> parameters_;
};

// Lays out the model's parameters, makes the units and binds every block to its views.
absl::StatusOr<std::vector<Unit>> MakeUnits(const Model& model, c10::ScalarType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_UNIT_H_
