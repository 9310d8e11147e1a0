#include "trainer/cuda/device_kernels.h"

#include <memory>
#include <span>

#include "ATen/ops/empty.h"
#include "ATen/ops/sum.h"
#include "c10/core/DeviceGuard.h"
#include "trainer/cuda/device_adamw.h"
#include "trainer/cuda/device_layers.h"
#include "trainer/cuda/kernels/chunk_squares.h"
#include "trainer/cuda/kernels/digest.h"
#include "trainer/cuda/kernels/fill.h"
#include "trainer/random/philox.h"

namespace muster::trainer::cuda {
namespace {

// Calls `run` with the address of a tensor's elements, in its type.
template <typename F>
auto WithElements(const at::Tensor& tensor, F&& run) {
  return tensor.scalar_type() == c10::ScalarType::Double ? run(tensor.mutable_data_ptr<double>())
                                                         : run(tensor.mutable_data_ptr<float>());
}

class OnDevice final : public Kernels {
 public:
  explicit OnDevice(CurrentStream current)
      : current_(current), layers_(MakeDeviceLayers(current)), adamw_(MakeDeviceAdamW(current)) {}

  void FillNormal(const NormalKey& key, std::span<const ElementRun> runs,
                  const at::Tensor& out) const override {
    const c10::DeviceGuard guard(out.device());
    WithElements(out, [&](auto* elements) {
      CheckLaunch(LaunchFillNormal(FillKey(key.seed, key.name), key.deviation, runs, elements,
                                   current_(out.device())),
                  "filling with normal numbers");
    });
  }

  void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                   std::span<const ElementRun> runs, const at::Tensor& mask) const override {
    const c10::DeviceGuard guard(mask.device());
    const DropoutMask drawn{.seed = key.seed,
                            .step = key.step,
                            .layer = key.layer,
                            .site = key.site,
                            .probability = p,
                            .samples = samples,
                            .runs = runs};
    WithElements(mask, [&](auto* elements) {
      CheckLaunch(LaunchFillDropout(drawn, elements, current_(mask.device())),
                  "drawing a dropout mask");
    });
  }

  at::Tensor ChunkSquares(const at::Tensor& flat, int64_t chunks) const override {
    const c10::DeviceGuard guard(flat.device());
    const at::Tensor squares =
        at::empty({chunks}, flat.options().dtype(c10::ScalarType::Double).requires_grad(false));
    if (chunks == 0) return squares;
    WithElements(flat, [&](const auto* elements) {
      CheckLaunch(LaunchChunkSquares(elements, chunks, flat.numel() / chunks,
                                     squares.mutable_data_ptr<double>(), current_(flat.device())),
                  "summing squares");
    });
    return squares;
  }

  uint64_t Digest(const at::Tensor& flat, uint64_t seed) const override {
    const c10::DeviceGuard guard(flat.device());
    const int64_t words = static_cast<int64_t>(flat.nbytes() / sizeof(uint32_t));
    const at::Tensor sums = at::empty(
        {DigestSums(words)}, flat.options().dtype(c10::ScalarType::Long).requires_grad(false));
    CheckLaunch(LaunchDigest(static_cast<const uint32_t*>(flat.const_data_ptr()), words,
                             sums.mutable_data_ptr<int64_t>(), current_(flat.device())),
                "hashing the state");
    // LibTorch's sum of integers wraps around, as a sum modulo 2^64 does.
    const auto sum = static_cast<uint64_t>(sums.sum().item<int64_t>());
    return MixKey(sum ^ MixKey(seed + static_cast<uint64_t>(words)));
  }

  const LayerKernels* layers() const override { return layers_.get(); }
  const AdamWKernel* adamw() const override { return adamw_.get(); }

 private:
  const CurrentStream current_;
  const std::unique_ptr<LayerKernels> layers_;
  const std::unique_ptr<AdamWKernel> adamw_;
};

}  // namespace

std::unique_ptr<Kernels> MakeDeviceKernels(CurrentStream current) {
  return std::make_unique<OnDevice>(current);
}

}  // namespace muster::trainer::cuda
