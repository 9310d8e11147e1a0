#include "trainer/cuda/kernels/rope.h"

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

template <typename T>
struct Turn {
  static constexpr int kThreads = 256;
  struct Shared {};

  Rope rope;
  bool packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t half = rope.width / 2;
    const float direction = rope.backward ? -1.0f : 1.0f;
    ForEachOfGrid(thread, rope.rows * half, packed, [&](auto n, int64_t pair) {
      const int64_t row = pair / half, i = pair % half;
      const int64_t angle = row / rope.repeat % rope.positions * half + i;
      float a[n], b[n], cosine[n], sine[n];
      const T* const x = static_cast<const T*>(rope.x) + row * rope.width + i;
      Load(x, a);
      Load(x + half, b);
      Load(rope.cosine + angle, cosine);
      Load(rope.sine + angle, sine);
      for (int k = 0; k < n; ++k) {
        const float s = direction * sine[k];
        const float turned = a[k] * cosine[k] - b[k] * s;
        b[k] = b[k] * cosine[k] + a[k] * s;
        a[k] = turned;
      }
      T* const y = static_cast<T*>(rope.y) + row * rope.width + i;
      Store(a, y);
      Store(b, y + half);
    });
  }
};

}  // namespace

LaunchResult LaunchRope(const Rope& rope, Stream stream) {
  if (rope.width % 2 != 0) return {cudaErrorInvalidValue};
  return WithElement(rope.element, [&]<typename T>(T*) {
    const bool packed = rope.width / 2 % kPack == 0 && ArePacked<T>({rope.x, rope.y}) &&
                        ArePacked<float>({rope.cosine, rope.sine});
    const int64_t pairs = rope.rows * (rope.width / 2);
    return Launch(Turn<T>{rope, packed}, BlocksFor(pairs, Turn<T>::kThreads), stream);
  });
}

}  // namespace muster::trainer::cuda
