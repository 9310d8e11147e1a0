#include "trainer/cuda/kernels/device_memory.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if !defined(__CUDACC__)
#include "trainer/cuda/kernels/emulation.h"
#endif

namespace muster::trainer::cuda {

#if defined(__CUDACC__)
namespace {

void Must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace

void* AllocatePoisoned(size_t bytes) {
  void* memory = nullptr;
  Must(cudaMalloc(&memory, bytes), "cudaMalloc");
  Must(cudaMemset(memory, 0xff, bytes), "cudaMemset");
  return memory;
}
void FreeMemory(void* memory) { Must(cudaFree(memory), "cudaFree"); }
void CopyToDevice(const void* from, size_t bytes, void* to) {
  Must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
}
void CopyToHost(const void* from, size_t bytes, void* to) {
  Must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
}
void UseThreadOrder(int) {}

#else

void* AllocatePoisoned(size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xff, bytes);
  return memory;
}
void FreeMemory(void* memory) { std::free(memory); }
void CopyToDevice(const void* from, size_t bytes, void* to) { std::memcpy(to, from, bytes); }
void CopyToHost(const void* from, size_t bytes, void* to) { std::memcpy(to, from, bytes); }
void UseThreadOrder(int order) { SetEmulatedThreadOrder(static_cast<ThreadOrder>(order)); }

#endif

}  // namespace muster::trainer::cuda
