#include "trainer/cuda/kernels/adamw.h"

#include <algorithm>
#include <cmath>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

constexpr int64_t kElementsOfBlock = 4096;
constexpr int kRuns = 32;  // the arguments of a kernel have 4 KB

struct Factors {
  float decay_rate;       // the learning rate, for the decay
  float step_size;        // learning rate / (1 - beta1^update)
  float root_correction;  // sqrt(1 - beta2^update)
  float beta1, beta2, rest1, rest2;
  float epsilon;
  float gradient_scale;
};

struct AdamW {
  static constexpr int kThreads = 256;
  struct Shared {};

  Factors factors;
  int runs;
  AdamWRun run[kRuns];
  int64_t first_block[kRuns];
  bool packed[kRuns];

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    int r = 0;
    while (r + 1 < runs && first_block[r + 1] <= thread.block()) ++r;
    const AdamWRun& one = run[r];
    const int64_t begin = (thread.block() - first_block[r]) * kElementsOfBlock;
    const int64_t left = one.count - begin;
    ForEach(thread.index(), kThreads, left < kElementsOfBlock ? left : kElementsOfBlock, packed[r],
            [&](auto n, int64_t i) { Update(n, one, begin + i); });
  }

  template <int N>
  MUSTER_DEVICE void Update(Width<N>, const AdamWRun& one, int64_t i) const {
    float value[N], gradient[N], first[N], second[N];
    Load(one.values + i, value);
    Load(one.gradients + i, gradient);
    Load(one.first + i, first);
    Load(one.second + i, second);
    for (int k = 0; k < N; ++k) {
      const float g = gradient[k] * factors.gradient_scale;
      value[k] -= factors.decay_rate * one.decay * value[k];
      first[k] = factors.beta1 * first[k] + factors.rest1 * g;
      second[k] = factors.beta2 * second[k] + factors.rest2 * g * g;
      const float root = sqrtf(second[k]) / factors.root_correction + factors.epsilon;
      value[k] -= factors.step_size * (first[k] / root);
    }
    Store(value, one.values + i);
    Store(first, one.first + i);
    Store(second, one.second + i);
    if (one.copy) Store(value, static_cast<__nv_bfloat16*>(one.copy) + i);
  }
};

Factors FactorsOf(const AdamWStep& step) {
  const auto update = static_cast<double>(step.update);
  return {
      .decay_rate = static_cast<float>(step.learning_rate),
      .step_size = static_cast<float>(step.learning_rate / (1.0 - std::pow(step.beta1, update))),
      .root_correction = static_cast<float>(std::sqrt(1.0 - std::pow(step.beta2, update))),
      .beta1 = static_cast<float>(step.beta1),
      .beta2 = static_cast<float>(step.beta2),
      .rest1 = static_cast<float>(1.0 - step.beta1),
      .rest2 = static_cast<float>(1.0 - step.beta2),
      .epsilon = static_cast<float>(step.epsilon),
      .gradient_scale = static_cast<float>(step.gradient_scale)};
}

}  // namespace

LaunchResult LaunchAdamW(std::span<const AdamWRun> runs, const AdamWStep& step, Stream stream) {
  while (!runs.empty()) {
    AdamW kernel = {};
    kernel.factors = FactorsOf(step);
    kernel.runs = static_cast<int>(std::min<size_t>(runs.size(), kRuns));
    int64_t blocks = 0;
    for (int r = 0; r < kernel.runs; ++r) {
      const AdamWRun& run = runs[static_cast<size_t>(r)];
      kernel.run[r] = run;
      kernel.first_block[r] = blocks;
      kernel.packed[r] = ArePacked<float>({run.values, run.gradients, run.first, run.second}) &&
                         ArePacked<__nv_bfloat16>({run.copy});
      blocks += (run.count + kElementsOfBlock - 1) / kElementsOfBlock;
    }
    const LaunchResult result = Launch(kernel, blocks, stream);
    if (!result.ok()) return result;
    runs = runs.subspan(static_cast<size_t>(kernel.runs));
  }
  return {};
}

}  // namespace muster::trainer::cuda
