#include "trainer/cuda/kernels/activation.h"

#include <cmath>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

// Applies a function to corresponding elements of `kIn` arrays, which gives those of `kOut` arrays.
template <typename T, typename Function>
struct Elementwise {
  static constexpr int kThreads = 256;
  static constexpr int kIn = Function::kIn, kOut = Function::kOut;
  struct Shared {};

  int64_t count;
  bool packed;
  const T* in[kIn];
  T* out[kOut];

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    ForEachOfGrid<kWidePack<T>>(thread, count, packed, [&](auto n, int64_t i) {
      float from[kIn][n], to[kOut][n];
      for (int a = 0; a < kIn; ++a) Load(in[a] + i, from[a]);
      for (int k = 0; k < n; ++k) {
        float x[kIn], y[kOut];
        for (int a = 0; a < kIn; ++a) x[a] = from[a][k];
        Function::Apply(x, y);
        for (int a = 0; a < kOut; ++a) to[a][k] = y[a];
      }
      for (int a = 0; a < kOut; ++a) Store(to[a], out[a] + i);
    });
  }
};

struct SwiGlu {
  static constexpr int kIn = 2, kOut = 1;
  MUSTER_DEVICE static void Apply(const float (&x)[2], float (&y)[1]) {
    y[0] = x[0] / (1.0f + expf(-x[0])) * x[1];
  }
};

// With s = sigmoid(gate): d_gate = d_y * up * s * (1 + gate * (1 - s)), d_up = d_y * gate * s.
struct SwiGluBackward {
  static constexpr int kIn = 3, kOut = 2;
  MUSTER_DEVICE static void Apply(const float (&x)[3], float (&y)[2]) {
    const float s = 1.0f / (1.0f + expf(-x[0]));
    y[0] = x[2] * x[1] * s * (1.0f + x[0] * (1.0f - s));
    y[1] = x[2] * x[0] * s;
  }
};

constexpr float kRootTwoOverPi = 0.7978845608028654f;
constexpr float kCubic = 0.044715f;

struct Gelu {
  static constexpr int kIn = 1, kOut = 1;
  MUSTER_DEVICE static void Apply(const float (&x)[1], float (&y)[1]) {
    const float t = tanhf(kRootTwoOverPi * (x[0] + kCubic * x[0] * x[0] * x[0]));
    y[0] = 0.5f * x[0] * (1.0f + t);
  }
};

struct GeluBackward {
  static constexpr int kIn = 2, kOut = 1;
  MUSTER_DEVICE static void Apply(const float (&x)[2], float (&y)[1]) {
    const float square = x[0] * x[0];
    const float t = tanhf(kRootTwoOverPi * (x[0] + kCubic * x[0] * square));
    const float inner = kRootTwoOverPi * (1.0f + 3.0f * kCubic * square);
    y[0] = x[1] * (0.5f * (1.0f + t) + 0.5f * x[0] * (1.0f - t * t) * inner);
  }
};

template <typename Function>
LaunchResult LaunchFunction(Element element, int64_t count, const void* const (&in)[Function::kIn],
                            void* const (&out)[Function::kOut], Stream stream) {
  return WithElement(element, [&]<typename T>(T*) {
    Elementwise<T, Function> kernel = {.count = count, .packed = true, .in = {}, .out = {}};
    for (int a = 0; a < Function::kIn; ++a) kernel.in[a] = static_cast<const T*>(in[a]);
    for (int a = 0; a < Function::kOut; ++a) kernel.out[a] = static_cast<T*>(out[a]);
    for (const void* array : in)
      kernel.packed = kernel.packed && ArePacked<T, kWidePack<T>>({array});
    for (const void* array : out)
      kernel.packed = kernel.packed && ArePacked<T, kWidePack<T>>({array});
    return Launch(kernel, BlocksFor(count, kernel.kThreads), stream);
  });
}

}  // namespace

LaunchResult LaunchSwiGlu(Element element, int64_t count, const void* gate, const void* up, void* y,
                          Stream stream) {
  return LaunchFunction<SwiGlu>(element, count, {gate, up}, {y}, stream);
}

LaunchResult LaunchSwiGluBackward(Element element, int64_t count, const void* gate, const void* up,
                                  const void* d_y, void* d_gate, void* d_up, Stream stream) {
  return LaunchFunction<SwiGluBackward>(element, count, {gate, up, d_y}, {d_gate, d_up}, stream);
}

LaunchResult LaunchGelu(Element element, int64_t count, const void* x, void* y, Stream stream) {
  return LaunchFunction<Gelu>(element, count, {x}, {y}, stream);
}

LaunchResult LaunchGeluBackward(Element element, int64_t count, const void* x, const void* d_y,
                                void* d_x, Stream stream) {
  return LaunchFunction<GeluBackward>(element, count, {x, d_y}, {d_x}, stream);
}

}  // namespace muster::trainer::cuda
