#include "trainer/parallel/flat_memory.h"

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "c10/core/Allocator.h"

namespace muster::trainer {
namespace {

// Memory with several owners: the tensor that has it, and leases.
struct Shared {
  std::shared_ptr<c10::DataPtr> memory;
};

void EndShare(void* share) { delete static_cast<Shared*>(share); }

c10::DataPtr Share(const Shared& shared) {
  return {shared.memory->get(), new Shared(shared), &EndShare, shared.memory->device()};
}

// Returns null for memory that has one owner only.
const Shared* SharedOf(const c10::DataPtr& memory) {
  return memory.get_deleter() == &EndShare ? static_cast<Shared*>(memory.get_context()) : nullptr;
}

class KeptMemory {
 public:
  // Returns null if none of that size is kept.
  c10::DataPtr Take(const c10::Device& device, size_t bytes) {
    MutexLock lock(mu_);
    const auto found = kept_.find({device.type(), device.index(), bytes});
    if (found == kept_.end() || found->second.empty()) return {nullptr, device};
    c10::DataPtr memory = std::move(found->second.back());
    found->second.pop_back();
    return memory;
  }
  void Keep(c10::DataPtr memory, size_t bytes) {
    MutexLock lock(mu_);
    const c10::Device device = memory.device();
    kept_[{device.type(), device.index(), bytes}].push_back(std::move(memory));
  }
  void Free() {
    MutexLock lock(mu_);
    kept_.clear();
  }

 private:
  using Key = std::tuple<c10::DeviceType, c10::DeviceIndex, size_t>;
  Mutex mu_;
  std::map<Key, std::vector<c10::DataPtr>> kept_ MUSTER_GUARDED_BY(mu_);
};

// Lives as long as the process: tensors may end after everything else.
KeptMemory& Kept() {
  static auto* kept = new KeptMemory();
  return *kept;
}

}  // namespace

at::Tensor FlatWithoutMemory(int64_t elements, const at::TensorOptions& options) {
  const c10::Device device = options.device();
  const auto bytes = static_cast<size_t>(elements) * options.dtype().itemsize();
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device),
                       c10::GetAllocator(device.type()), /*resizable=*/false);
  at::Tensor flat = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(options.computeDispatchKey()), options.dtype());
  flat.unsafeGetTensorImpl()->set_sizes_contiguous({elements});
  return flat;
}

void GiveMemory(const at::Tensor& flat) {
  if (HasMemory(flat)) return;
  const c10::Storage& storage = flat.storage();
  c10::DataPtr memory = Kept().Take(flat.device(), storage.nbytes());
  if (memory.get() == nullptr) {
    c10::DataPtr fresh = storage.allocator()->allocate(storage.nbytes());
    memory = Share({std::make_shared<c10::DataPtr>(std::move(fresh))});
  }
  storage.set_data_ptr_noswap(std::move(memory));
}

at::Tensor LeaseMemory(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return tensor;
  const c10::Storage& storage = tensor.storage();
  const Shared* shared = SharedOf(storage.data_ptr());
  if (shared == nullptr) return tensor;
  c10::Storage leased(c10::Storage::use_byte_size_t(), storage.nbytes(), Share(*shared),
                      /*allocator=*/nullptr, /*resizable=*/false);
  at::Tensor lease = at::detail::make_tensor<c10::TensorImpl>(
      std::move(leased), c10::DispatchKeySet(tensor.options().computeDispatchKey()),
      tensor.dtype());
  lease.unsafeGetTensorImpl()->set_sizes_contiguous(tensor.sizes());
  lease.unsafeGetTensorImpl()->set_storage_offset(tensor.storage_offset());
  return lease;
}

void TakeMemory(const at::Tensor& flat) {
  if (!HasMemory(flat)) return;
  const c10::Storage& storage = flat.storage();
  c10::DataPtr memory = storage.set_data_ptr(c10::DataPtr(nullptr, flat.device()));
  const Shared* shared = SharedOf(memory);
  if (shared != nullptr && shared->memory.use_count() > 1) return;
  Kept().Keep(std::move(memory), storage.nbytes());
}

void FreeKeptMemory() { Kept().Free(); }

}  // namespace muster::trainer
