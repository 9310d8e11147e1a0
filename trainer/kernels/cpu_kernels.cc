#include "trainer/kernels/cpu_kernels.h"

#include <cstddef>
#include <string_view>

#include "ATen/ops/empty.h"
#include "base/hash.h"
#include "c10/core/ScalarType.h"
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

}  // namespace

const Kernels& CpuKernels() {
  static const OnCpu kernels;
  return kernels;
}

}  // namespace muster::trainer
