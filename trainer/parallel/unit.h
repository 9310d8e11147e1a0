#ifndef MUSTER_TRAINER_PARALLEL_UNIT_H_
#define MUSTER_TRAINER_PARALLEL_UNIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "c10/core/Device.h"
#include "c10/core/ScalarType.h"
#include "c10/core/TensorOptions.h"
#include "trainer/model/block.h"
#include "trainer/model/partition.h"
#include "trainer/parallel/stages.h"
#include "trainer/parallel/sum_tree.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {

// Says whether ranks divide a unit's values and gradients, or each rank keeps them as a whole.
struct Division {
  bool values = false;
  bool gradients = false;
  bool operator==(const Division&) const = default;
};

// The chunks of a unit that a rank holds, with one element for each of theirs. What is divided has
// memory of its own here; what is not is a view of the unit's.
struct HeldSlice {
  TreeNode chunks;
  at::Tensor values;
  at::Tensor gradients;
};

// Owns the flat memory of one unit. Parameters are leaf views of `values`, their gradients views of
// `gradients`: autograd adds in place, so gradients are zeroed, never reset, and the views stay
// views for the life of the unit. What is divided has memory as a whole only while it is in use,
// and what is computed from it may be kept meanwhile. Not thread-safe.
class Unit {
 public:
  // `layout` is that of `part` of the model. The unit has no memory before Hold().
  Unit(UnitLayout layout, const at::TensorOptions& options, ModelPart part = {});

  const UnitLayout& layout() const { return layout_; }
  const at::Tensor& values() const { return values_; }        // [elements]
  const at::Tensor& gradients() const { return gradients_; }  // [elements]
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  const HeldSlice& held() const { return held_; }
  bool divides_values() const { return !held_.values.is_alias_of(values_); }
  bool divides_gradients() const { return !held_.gradients.is_alias_of(gradients_); }
  // Makes a slice that Hold() can take: zeros where `division` says so, or, for values that rest
  // elsewhere while they are not in use, no memory. The rest of the unit gets memory now if it has
  // none, of zeros.
  HeldSlice MakeSlice(const TreeNode& chunks, const Division& division,
                      bool values_rest = false) const;
  // Holds `slice` from now on. The memory as a whole of what it divides is freed.
  void Hold(HeldSlice slice);

  // The calls below do nothing for what is not divided.
  // Gives the values memory as a whole. Its contents are undefined.
  void AllocateValues() const;
  void ReleaseValues() const;
  // Gives the gradients memory as a whole, of zeros, unless they have it.
  void AllocateGradients() const;
  void ReleaseGradients() const;

  // Sets initial values, a function of seed and tensor names. The held ones have memory.
  void Initialize(uint64_t seed);
  // Returns Internal if a view is broken because its grad was replaced: training would silently use
  // stale gradients.
  absl::Status CheckViews() const;

 private:
  void Fill(const UnitTensor& tensor, uint64_t seed) const;

  UnitLayout layout_;
  ModelPart part_;
  at::Tensor values_;
  at::Tensor gradients_;
  std::vector<at::Tensor> parameters_;
  HeldSlice held_;
};

// Lays out a part of the model's parameters, makes the units and binds every block of the stage to
// its views. Errors are those of LayOutModel().
absl::StatusOr<std::vector<Unit>> MakeUnits(const Model& model, c10::ScalarType type,
                                            c10::Device device = c10::DeviceType::CPU,
                                            ModelPart part = {}, const StageCut& cut = {},
                                            int stage = 0);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_UNIT_H_
