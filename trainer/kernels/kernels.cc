#include "trainer/kernels/kernels.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "ATen/ops/empty.h"
#include "base/hash.h"
#include "c10/core/ScalarType.h"
#include "c10/util/Exception.h"
#include "trainer/kernels/chunk_squares.h"

namespace muster::trainer {
namespace {

template <typename T>
std::span<T> Elements(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

// Calls `run` with the elements of a tensor in its type.
template <typename F>
void WithElements(const at::Tensor& tensor, F&& run) {
  if (tensor.scalar_type() == c10::ScalarType::Double) {
    run(Elements<double>(tensor));
  } else {
    run(Elements<float>(tensor));
  }
}

class OnCpu final : public Kernels {
 public:
  void FillNormal(const NormalKey& key, std::span<const ElementRun> runs,
                  const at::Tensor& out) const override {
    WithElements(out, [&](auto elements) { trainer::FillNormal(key, runs, elements); });
  }

  void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                   std::span<const ElementRun> runs, const at::Tensor& mask) const override {
    WithElements(mask,
                 [&](auto elements) { trainer::FillDropout(key, p, samples, runs, elements); });
  }

  at::Tensor ChunkSquares(const at::Tensor& flat, int64_t chunks) const override {
    at::Tensor squares = at::empty({chunks}, c10::ScalarType::Double);
    WithElements(flat, [&]<typename T>(std::span<T> elements) {
      trainer::ChunkSquares(std::span<const T>(elements), Elements<double>(squares));
    });
    return squares;
  }

  uint64_t Digest(const at::Tensor& flat, uint64_t seed) const override {
    return Hash64({static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()}, seed);
  }
};

// Returns the form for CPUs, which lives as long as the process.
const Kernels& CpuKernels() {
  static const OnCpu kernels;
  return kernels;
}

constexpr auto kTypes = static_cast<size_t>(c10::COMPILE_TIME_MAX_DEVICE_TYPES);

std::array<const Kernels*, kTypes>& Forms() {
  static std::array<const Kernels*, kTypes> forms = [] {
    std::array<const Kernels*, kTypes> initial = {};
    initial[static_cast<size_t>(c10::DeviceType::CPU)] = &CpuKernels();
    return initial;
  }();
  return forms;
}

}  // namespace

const Kernels& KernelsOf(const at::Tensor& tensor) {
  const Kernels* form = Forms()[static_cast<size_t>(tensor.device().type())];
  TORCH_CHECK(form != nullptr, "the trainer has no kernels for ", tensor.device());
  return *form;
}

const LayerKernels* LayersOf(const at::Tensor& tensor) {
  const bool narrow = tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16;
  return narrow ? KernelsOf(tensor).layers() : nullptr;
}

void RegisterKernels(c10::DeviceType type, const Kernels& kernels) {
  Forms()[static_cast<size_t>(type)] = &kernels;
}

}  // namespace muster::trainer
