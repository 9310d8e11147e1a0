#include "trainer/engine/step/saved_tensors.h"

#include <mutex>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "c10/core/GradMode.h"
#include "c10/core/Storage.h"
#include "torch/csrc/autograd/engine.h"
#include "torch/csrc/autograd/saved_variable_hooks.h"
#include "trainer/engine/step/packed_numbers.h"

namespace muster::trainer {
namespace {

using torch::autograd::SavedVariableHooks;

thread_local SavedTensorsScope* current_scope = nullptr;

bool IsOrViewsLeaf(const at::Tensor& tensor) {
  if (tensor.is_leaf() || !tensor.is_view()) return tensor.is_leaf();
  const at::TensorBase& base = tensor._base();
  // A function of our own may return a view of memory that it has made, which is no leaf of a
  // graph. Parameters are no views themselves (Unit), so that their views are known by the base.
  return base.is_leaf() && base.requires_grad();
}

// Statistics that carry a gradient, such as those of RMSNorm where LibTorch has no function for it,
// are a column with one number for each row.
bool IsActivation(const at::Tensor& tensor) {
  return tensor.requires_grad() && !IsOrViewsLeaf(tensor) && tensor.dim() > 0 &&
         tensor.size(-1) > 1;
}

}  // namespace

// All numbers of the memory in which some tensors lay, packed. Thread-safe.
class PackedStorage {
 public:
  explicit PackedStorage(PackedNumbers numbers) : numbers_(std::move(numbers)) {}

  // Returns the numbers, flat. Callers share them while any of them uses them.
  at::Tensor Flat() {
    const std::lock_guard lock(mutex_);
    if (c10::intrusive_ptr<c10::StorageImpl> shared = unpacked_.lock()) {
      at::Tensor flat = at::empty({0}, numbers_.values.options().dtype(numbers_.type));
      flat.set_(c10::Storage(std::move(shared)), 0, {numbers_.count}, {1});
      return flat;
    }
    at::Tensor flat = Unpack(numbers_);
    unpacked_ = flat.storage().getWeakStorageImpl();
    return flat;
  }

 private:
  const PackedNumbers numbers_;
  std::mutex mutex_;
  c10::weak_intrusive_ptr<c10::StorageImpl> unpacked_{c10::intrusive_ptr<c10::StorageImpl>()};
};

namespace {

class Hooks final : public SavedVariableHooks {
 public:
  explicit Hooks(SavedTensorsScope& scope) : scope_(&scope) {}

  // Autograd calls it at once, in the thread that made this.
  void call_pack_hook(const at::Tensor& tensor) override {
    packed_ = scope_->PackedOf(tensor);
    scope_ = nullptr;
    // An output that this kept with its graph would keep this.
    if (packed_ == nullptr) {
      whole_ = tensor.detach();
      return;
    }
    sizes_ = tensor.sizes().vec();
    strides_ = tensor.strides().vec();
    offset_ = tensor.storage_offset();
  }

  at::Tensor call_unpack_hook() override {
    if (packed_ == nullptr) return whole_;
    const c10::AutoGradMode no_graph(false);
    return packed_->Flat().as_strided(sizes_, strides_, offset_);
  }

 private:
  SavedTensorsScope* scope_;
  at::Tensor whole_;
  std::shared_ptr<PackedStorage> packed_;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_ = 0;
};

// Autograd's engine, which is where functions ask for hooks.
class HookedEngine final : public torch::autograd::Engine {
 public:
  // It lives as long as the process, as threads may run backward passes until then.
  static torch::autograd::Engine& Get() {
    static HookedEngine& engine = *new HookedEngine;
    return engine;
  }

  std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
    return current_scope == nullptr ? nullptr : std::make_unique<Hooks>(*current_scope);
  }
};

}  // namespace

SavedTensorsScope::SavedTensorsScope(planner::SavedFormat format)
    : format_(format), outer_(std::exchange(current_scope, this)) {
  static std::once_flag installed;
  std::call_once(installed, [] { torch::autograd::set_default_engine_stub(&HookedEngine::Get); });
}

SavedTensorsScope::~SavedTensorsScope() { current_scope = outer_; }

std::shared_ptr<PackedStorage> SavedTensorsScope::PackedOf(const at::Tensor& tensor) {
  if (!CanPack(tensor.scalar_type(), format_) || tensor.numel() < planner::kFewestPacked ||
      !IsActivation(tensor)) {
    return nullptr;
  }
  const c10::Storage& storage = tensor.storage();
  const auto version = static_cast<int64_t>(tensor._version());
  const auto found = known_.find(storage.unsafeGetStorageImpl());
  if (found != known_.end() && found->second.version == version &&
      !found->second.storage.expired()) {
    if (auto packed = found->second.packed.lock()) return packed;
  }
  const auto elements =
      static_cast<int64_t>(storage.nbytes()) / static_cast<int64_t>(tensor.itemsize());
  auto packed = std::make_shared<PackedStorage>(
      Pack(tensor.detach().as_strided({elements}, {1}, 0), format_));
  known_.insert_or_assign(storage.unsafeGetStorageImpl(),
                          Known{storage.getWeakStorageImpl(), version, packed});
  return packed;
}

}  // namespace muster::trainer
