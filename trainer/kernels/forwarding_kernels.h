#ifndef MUSTER_TRAINER_KERNELS_FORWARDING_KERNELS_H_
#define MUSTER_TRAINER_KERNELS_FORWARDING_KERNELS_H_

#include <cstdint>
#include <span>

#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// Other kernels' loops, for tests that put parts of a card beside them. Those must outlive it.
class ForwardingKernels : public Kernels {
 public:
  explicit ForwardingKernels(const Kernels& to) : to_(to) {}

  void FillNormal(const NormalKey& key, std::span<const ElementRun> runs,
                  const at::Tensor& out) const override {
    to_.FillNormal(key, runs, out);
  }
  void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                   std::span<const ElementRun> runs, const at::Tensor& mask) const override {
    to_.FillDropout(key, p, samples, runs, mask);
  }
  at::Tensor ChunkSquares(const at::Tensor& flat, int64_t chunks) const override {
    return to_.ChunkSquares(flat, chunks);
  }
  uint64_t Digest(const at::Tensor& flat, uint64_t seed) const override {
    return to_.Digest(flat, seed);
  }

 private:
  const Kernels& to_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_FORWARDING_KERNELS_H_
