#ifndef MUSTER_TRAINER_ENGINE_STEP_SAVED_TENSORS_H_
#define MUSTER_TRAINER_ENGINE_STEP_SAVED_TENSORS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "ATen/core/Tensor.h"
#include "c10/core/StorageImpl.h"
#include "c10/util/intrusive_ptr.h"
#include "planner/activations.h"

namespace muster::trainer {

class PackedStorage;

// While one of these lives, autograd functions that the thread runs save their tensors in a format
// of fewer bits, and get them back rounded in their backward passes. That is done to activations
// alone: tensors of planner::kFewestPacked numbers or more that carry a gradient and are neither
// leaves of the graph nor views of one. So weights and a block's inputs stay as they are, and so do
// tables, masks and the statistics of norms and attention. The memory below a tensor is packed as a
// whole, and once for all tensors that lie in it. LibTorch exceptions pass through.
//
// The process has one hook for all of LibTorch: the first of these puts an engine of its own in the
// place of autograd's, which is the same but for that hook.
class SavedTensorsScope {
 public:
  explicit SavedTensorsScope(planner::SavedFormat format);
  ~SavedTensorsScope();
  SavedTensorsScope(const SavedTensorsScope&) = delete;
  SavedTensorsScope& operator=(const SavedTensorsScope&) = delete;

  // Returns null if the tensor is to be saved as it is.
  std::shared_ptr<PackedStorage> PackedOf(const at::Tensor& tensor);

 private:
  struct Known {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // keeps the key from being used again
    int64_t version = 0;
    std::weak_ptr<PackedStorage> packed;
  };

  const planner::SavedFormat format_;
  SavedTensorsScope* const outer_;
  std::map<const c10::StorageImpl*, Known> known_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_SAVED_TENSORS_H_
