#ifndef MUSTER_TRAINER_KERNELS_KERNELS_H_
#define MUSTER_TRAINER_KERNELS_KERNELS_H_

#include <cstdint>
#include <span>

#include "ATen/core/Tensor.h"
#include "c10/core/DeviceType.h"
#include "trainer/kernels/adamw_kernel.h"
#include "trainer/kernels/layer_kernels.h"
#include "trainer/random/element_run.h"
#include "trainer/random/fill.h"

namespace muster::trainer {

// The seam to a device: the loops over memory that are our own and not LibTorch's, in a form for
// each kind of device. Tensors are contiguous, on the form's device, and of FP32 or FP64. A form
// does not wait for its device, except to return a number. Errors are exceptions of LibTorch.
// Thread-safe.
class Kernels {
 public:
  virtual ~Kernels() = default;

  // As the functions of the same names in trainer/random/fill.h, with the same bits on every
  // device. `out` has the elements of `runs`; `mask` has them for each sample.
  virtual void FillNormal(const NormalKey& key, std::span<const ElementRun> runs,
                          const at::Tensor& out) const = 0;
  virtual void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                           std::span<const ElementRun> runs, const at::Tensor& mask) const = 0;

  // Returns the sum of squares of each of `chunks` equal chunks of `flat`, FP64 [chunks] on the
  // same device. The order of additions within a chunk is fixed for a kind of device.
  virtual at::Tensor ChunkSquares(const at::Tensor& flat, int64_t chunks) const = 0;

  // Returns a hash of the bits of `flat`, continued from `seed`. It is the same on every device of
  // one kind, and detects accidents, not attacks.
  virtual uint64_t Digest(const at::Tensor& flat, uint64_t seed) const = 0;

  // Returns the parts of layers that this kind of device computes in one pass, or null: LibTorch's
  // operators then compute them.
  virtual const LayerKernels* layers() const { return nullptr; }

  // Returns AdamW of FP32 tensors, or null: LibTorch's operator then updates them.
  virtual const AdamWKernel* adamw() const { return nullptr; }
};

// Returns the form for the device of a tensor.
const Kernels& KernelsOf(const at::Tensor& tensor);

// Returns the layers() of the device of a tensor if they compute in its type, else null.
const LayerKernels* LayersOf(const at::Tensor& tensor);

// Registers the form for a kind of device, in the place of any before it, for the life of the
// process. Called before any thread computes on it.
void RegisterKernels(c10::DeviceType type, const Kernels& kernels);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_KERNELS_H_
