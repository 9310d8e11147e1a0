#include "trainer/cuda/kernels/cast.h"

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

template <typename From, typename To>
struct Cast {
  static constexpr int kThreads = 256;
  struct Shared {};

  const From* from;
  int64_t count;
  float scale;
  To* to;
  bool packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    ForEachOfGrid(thread, count, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(from + i, v);
      for (int k = 0; k < n; ++k) v[k] *= scale;
      Store(v, to + i);
    });
  }
};

}  // namespace

LaunchResult LaunchCast(Element from_element, const void* from, int64_t count, float scale,
                        Element to_element, void* to, Stream stream) {
  return WithElement(from_element, [&]<typename From>(From*) {
    return WithElement(to_element, [&]<typename To>(To*) {
      const Cast<From, To> kernel{static_cast<const From*>(from), count, scale,
                                  static_cast<To*>(to),
                                  ArePacked<From>({from}) && ArePacked<To>({to})};
      return Launch(kernel, BlocksFor(count, kernel.kThreads), stream);
    });
  });
}

}  // namespace muster::trainer::cuda
