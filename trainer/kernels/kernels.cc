#include "trainer/kernels/kernels.h"

#include <array>
#include <cstddef>

#include "c10/util/Exception.h"
#include "trainer/kernels/cpu_kernels.h"

namespace muster::trainer {
namespace {

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
