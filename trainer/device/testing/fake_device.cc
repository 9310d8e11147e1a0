#include "trainer/device/testing/fake_device.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "ATen/EmptyTensor.h"
#include "ATen/detail/PrivateUse1HooksInterface.h"
#include "ATen/native/CPUFallback.h"
#include "ATen/ops/_copy_from_native.h"
#include "ATen/ops/_reshape_alias_native.h"
#include "ATen/ops/as_strided_native.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/view_native.h"
#include "c10/core/Allocator.h"
#include "c10/core/CachingDeviceAllocator.h"
#include "c10/core/DeviceType.h"
#include "c10/core/impl/DeviceGuardImplInterface.h"
#include "torch/library.h"
#include "trainer/device/testing/fake_streams.h"

namespace muster::trainer {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr auto kKey = c10::DispatchKey::PrivateUse1;

// An address with this bit is not canonical on x86-64, so that its use by the host ends the
// process.
constexpr uintptr_t kMark = uintptr_t{1} << 62;

void* Marked(void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) | kMark);
}
void* Unmarked(const void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~kMark);
}

std::atomic<int64_t> limit = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> in_use = 0;
std::atomic<int64_t> most_in_use = 0;
std::atomic<int64_t> refusals = 0;
std::atomic<bool> broken = false;
std::atomic<int64_t> reads = 0;
std::atomic<int64_t> waits = 0;
// True while an operator of the device runs on copies, which are no reads of the host's.
thread_local bool in_operator = false;

class InOperator {
 public:
  InOperator() : outer_(std::exchange(in_operator, true)) {}
  ~InOperator() { in_operator = outer_; }
  InOperator(const InOperator&) = delete;
  InOperator& operator=(const InOperator&) = delete;

 private:
  const bool outer_;
};

// Counts as LibTorch's allocators of devices do, which try again once before they refuse. It keeps
// nothing that no tensor has.
class MarkedMemory final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { most_in_use = in_use.load(); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = stats.reserved_bytes[0].current = in_use.load();
    stats.allocated_bytes[0].peak = most_in_use.load();
    stats.num_alloc_retries = stats.num_ooms = refusals.load();
    return stats;
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    const int64_t total = std::min(limit.load(), int64_t{1} << 50);
    return {static_cast<size_t>(total - in_use.load()), static_cast<size_t>(total)};
  }
  c10::DataPtr allocate(size_t bytes) override {
    const int64_t used = static_cast<int64_t>(bytes) + in_use.load();
    if (used > limit.load()) ++refusals;
    TORCH_CHECK_WITH(OutOfMemoryError, used <= limit.load(), "the fake device has no memory for ",
                     bytes, " bytes");
    void* const memory = bytes == 0 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != nullptr) Count(static_cast<int64_t>(malloc_usable_size(memory)));
    void* const address = memory == nullptr ? nullptr : Marked(memory);
    return {address, address, &Free, c10::Device(kType, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(Unmarked(to), Unmarked(from), bytes);
  }

 private:
  static void Count(int64_t bytes) {
    const int64_t now = in_use += bytes;
    int64_t most = most_in_use.load();
    while (most < now && !most_in_use.compare_exchange_weak(most, now)) {
    }
  }
  static void Free(void* address) {
    if (address == nullptr) return;
    in_use -= static_cast<int64_t>(malloc_usable_size(Unmarked(address)));
    std::free(Unmarked(address));
  }
};

MarkedMemory& Memory() {
  static MarkedMemory memory;
  return memory;
}

// Returns a tensor of the host with the memory, sizes and strides of one of the device.
at::Tensor OnHost(const at::Tensor& tensor) {
  if (tensor.device().type() != kType) return tensor;
  return at::from_blob(Unmarked(tensor.mutable_data_ptr()), tensor.sizes(), tensor.strides(),
                       at::TensorOptions(tensor.scalar_type()));
}

at::Tensor Empty(c10::IntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &Memory(), c10::DispatchKeySet(kKey),
                                   type.value_or(at::kFloat), format);
}

at::Tensor EmptyStrided(c10::IntArrayRef size, c10::IntArrayRef stride,
                        std::optional<at::ScalarType> type, std::optional<at::Layout>,
                        std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &Memory(), c10::DispatchKeySet(kKey),
                                           type.value_or(at::kFloat));
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  TORCH_CHECK(!broken.load(), "the fake device is broken");
  FakeStreams& streams = StreamsOfFakeDevice();
  streams.CheckOrder();
  if (in_operator || (!from.is_cpu() && !to.is_cpu())) {
    OnHost(to).copy_(OnHost(from));
  } else if (from.is_cpu()) {
    if (!PinnedMemoryOfFakeDevice().Has(from.const_data_ptr())) ++waits;
    OnHost(to).copy_(from);
  } else if (non_blocking && PinnedMemoryOfFakeDevice().Has(to.const_data_ptr())) {
    streams.CopyLater(to, OnHost(from));
  } else {
    ++reads;
    to.copy_(OnHost(from));
  }
  streams.NoteWork();
  return to;
}

at::Tensor CopyFromAndResize(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) {
    const auto bytes = static_cast<size_t>(from.numel()) * from.element_size();
    TORCH_CHECK(to.numel() == 0, "only a result without elements gets other sizes");
    to.storage().set_nbytes(bytes);
    to.storage().set_data_ptr_noswap(Memory().allocate(bytes));
    to.unsafeGetTensorImpl()->set_sizes_contiguous(from.sizes());
  }
  return CopyFrom(from, to, false);
}

at::Scalar LocalScalar(const at::Tensor& tensor) {
  ++reads;
  return OnHost(tensor).item();
}

// Autograd asks it whether there is such a device.
class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  bool isPinnedPtr(const void* data) const override { return PinnedMemoryOfFakeDevice().Has(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemoryOfFakeDevice(); }
};

// A card takes a number of the host's, a tensor without dimensions, beside its own tensors, except
// in the fused updates of optimizers.
void RefuseHostTensor(const c10::OperatorHandle& op, const at::Tensor& tensor) {
  const std::string& name = op.operator_name().name;
  const bool is_fused = name.rfind("aten::_fused_", 0) == 0;
  TORCH_CHECK(!tensor.defined() || !tensor.is_cpu() || (tensor.dim() == 0 && !is_fused), name,
              ": a tensor of the host beside tensors of the device");
}

void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  for (const c10::IValue& value : torch::jit::last(*stack, op.schema().arguments().size())) {
    if (value.isTensor()) RefuseHostTensor(op, value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) RefuseHostTensor(op, tensor);
  }
  const InOperator inside;
  at::native::cpu_fallback(op, stack);
  StreamsOfFakeDevice().NoteWork();
}

class Guard final : public c10::impl::NoOpDeviceGuardImpl<kType> {
 public:
  c10::Device getDevice() const override { return {kType, 0}; }
  c10::Device exchangeDevice(c10::Device) const override { return {kType, 0}; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return Of(StreamsOfFakeDevice().current());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return Of(FakeStreams::kPool);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return Of(StreamsOfFakeDevice().Exchange(stream.id()));
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    StreamsOfFakeDevice().Record(event, stream.id());
  }
  void block(void* event, const c10::Stream& stream) const override {
    StreamsOfFakeDevice().Block(event, stream.id());
  }
  void synchronizeEvent(void* event) const override {
    if (StreamsOfFakeDevice().Synchronize(event)) ++reads;
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    FakeStreams::Destroy(event);
  }

 private:
  static c10::Stream Of(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, {kType, 0}, id);
  }
};

// The loops of the CPU, on the memory of the device.
class OnFake final : public Kernels {
 public:
  void FillNormal(const NormalKey& key, std::span<const ElementRun> runs,
                  const at::Tensor& out) const override {
    const at::Tensor host = HostViewOf(out);
    KernelsOf(host).FillNormal(key, runs, host);
  }
  void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                   std::span<const ElementRun> runs, const at::Tensor& mask) const override {
    const at::Tensor host = HostViewOf(mask);
    KernelsOf(host).FillDropout(key, p, samples, runs, host);
  }
  at::Tensor ChunkSquares(const at::Tensor& flat, int64_t chunks) const override {
    const at::Tensor host = HostViewOf(flat);
    const InOperator inside;
    return KernelsOf(host).ChunkSquares(host, chunks).to(flat.device());
  }
  uint64_t Digest(const at::Tensor& flat, uint64_t seed) const override {
    const at::Tensor host = HostViewOf(flat);
    return KernelsOf(host).Digest(host, seed);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &Empty);
  library.impl("empty_strided", &EmptyStrided);
  library.impl("_copy_from", &CopyFrom);
  library.impl("_copy_from_and_resize", &CopyFromAndResize);
  library.impl("_local_scalar_dense", &LocalScalar);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
}

}  // namespace

void SetFakeDeviceMemory(int64_t bytes) { limit = bytes; }
void BreakFakeDevice(bool is_broken) { broken = is_broken; }
int64_t FakeDeviceMemoryInUse() { return in_use.load(); }
int64_t FakeDeviceReads() { return reads.load(); }
int64_t FakeDeviceWaits() { return waits.load(); }

at::Tensor HostViewOf(const at::Tensor& tensor) { return OnHost(tensor); }

const Kernels& KernelsOfFakeDevice() {
  static const OnFake kernels;
  return kernels;
}

c10::Device FakeDevice() {
  static const bool registered = [] {
    static Hooks hooks;
    c10::register_privateuse1_backend("fake");
    at::RegisterPrivateUse1HooksInterface(&hooks);
    c10::SetAllocator(kType, &Memory());
    RegisterKernels(kType, KernelsOfFakeDevice());
    return true;
  }();
  (void)registered;
  return {kType, 0};
}

}  // namespace muster::trainer
