#include "trainer/cuda/kernels/device_timer.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace muster::trainer::cuda {
namespace {

constexpr int kWarmUp = 3;

void Must(int code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: error %d of CUDA\n", what, code);
  std::exit(1);
}

}  // namespace

#if defined(__CUDACC__)

LaunchResult CopyOnDevice(const void* from, size_t bytes, void* to) {
  return {cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr)};
}

double SecondsOf(int repeats, const std::function<LaunchResult()>& launch) {
  for (int i = 0; i < kWarmUp; ++i) Must(launch().code, "a launch");
  cudaEvent_t begin = nullptr, end = nullptr;
  Must(cudaEventCreate(&begin), "cudaEventCreate");
  Must(cudaEventCreate(&end), "cudaEventCreate");
  Must(cudaEventRecord(begin, nullptr), "cudaEventRecord");
  for (int i = 0; i < repeats; ++i) Must(launch().code, "a launch");
  Must(cudaEventRecord(end, nullptr), "cudaEventRecord");
  Must(cudaEventSynchronize(end), "the kernels");
  float milliseconds = 0;
  Must(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  Must(cudaEventDestroy(begin), "cudaEventDestroy");
  Must(cudaEventDestroy(end), "cudaEventDestroy");
  return milliseconds * 1e-3 / repeats;
}

#else

LaunchResult CopyOnDevice(const void* from, size_t bytes, void* to) {
  std::memcpy(to, from, bytes);
  return {};
}

double SecondsOf(int repeats, const std::function<LaunchResult()>& launch) {
  for (int i = 0; i < kWarmUp; ++i) Must(launch().code, "a launch");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) Must(launch().code, "a launch");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return seconds.count() / repeats;
}

#endif

}  // namespace muster::trainer::cuda
