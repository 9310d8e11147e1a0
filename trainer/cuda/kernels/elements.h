#ifndef MUSTER_TRAINER_CUDA_KERNELS_ELEMENTS_H_
#define MUSTER_TRAINER_CUDA_KERNELS_ELEMENTS_H_

// How kernels walk over elements in memory: four at a time where that is aligned, for a card moves
// memory at its full rate only then.

#include <cuda_bf16.h>

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {

// Threads that go through `count` elements in steps of the whole grid: enough of them to keep a
// card busy, few enough to be worth their start.
inline int64_t BlocksFor(int64_t count, int threads) {
  constexpr int64_t kMost = 4096;
  const int64_t blocks = (count + threads - 1) / threads;
  return blocks < kMost ? blocks : kMost;
}

MUSTER_DEVICE float ToFloat(float value) { return value; }
MUSTER_DEVICE float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T>
MUSTER_DEVICE T FromFloat(float value);
template <>
MUSTER_DEVICE float FromFloat<float>(float value) {
  return value;
}
template <>
MUSTER_DEVICE __nv_bfloat16 FromFloat<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// Calls `body` with a null pointer of the type that `element` names.
template <typename Body>
LaunchResult WithElement(Element element, const Body& body) {
  switch (element) {
    case Element::kFloat:
      return body(static_cast<float*>(nullptr));
    case Element::kBfloat16:
      return body(static_cast<__nv_bfloat16*>(nullptr));
  }
  return {cudaErrorInvalidValue};
}

inline constexpr int kPack = 4;

// As many elements as one load can move.
template <typename T>
constexpr int kWidePack = 16 / static_cast<int>(sizeof(T));

template <int N>
using Width = std::integral_constant<int, N>;

template <int N, typename T>
struct alignas(N * sizeof(T)) Pack {
  T values[N];
};

template <int N, typename T>
MUSTER_DEVICE void Load(const T* from, float (&to)[N]) {
  const auto pack = *reinterpret_cast<const Pack<N, T>*>(from);
  for (int k = 0; k < N; ++k) to[k] = ToFloat(pack.values[k]);
}

template <int N, typename T>
MUSTER_DEVICE void Store(const float (&from)[N], T* to) {
  Pack<N, T> pack;
  for (int k = 0; k < N; ++k) pack.values[k] = FromFloat<T>(from[k]);
  *reinterpret_cast<Pack<N, T>*>(to) = pack;
}

// Tells whether arrays of `T` at these addresses, null ones aside, can be read as packs.
template <typename T, int kRun = kPack>
bool ArePacked(std::initializer_list<const void*> pointers) {
  for (const void* pointer : pointers) {
    if (reinterpret_cast<uintptr_t>(pointer) % (kRun * sizeof(T)) != 0) return false;
  }
  return true;
}

// Calls body(Width<N>(), i) for runs of N elements that together are [0, count), where N is kRun if
// they are packed, and 1 at the end; this thread is number `me` of `all` that share them.
template <int kRun = kPack, typename Body>
MUSTER_DEVICE void ForEach(int64_t me, int64_t all, int64_t count, bool packed, const Body& body) {
  const int64_t runs = packed ? count / kRun : 0;
  for (int64_t i = me; i < runs; i += all) body(Width<kRun>(), i * kRun);
  for (int64_t i = runs * kRun + me; i < count; i += all) body(Width<1>(), i);
}

// The same for the elements of one array, in runs of kRun and of one: runs of one at its ends, so
// that it may begin anywhere.
template <int kRun, typename T, typename Body>
MUSTER_DEVICE void ForEachAligned(int64_t me, int64_t all, const T* array, int64_t count,
                                  const Body& body) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(array) / sizeof(T) % kRun);
  int64_t begin = past == 0 ? 0 : kRun - past;
  if (begin > count) begin = count;
  const int64_t end = begin + (count - begin) / kRun * kRun;
  if (me < begin) body(Width<1>(), me);
  for (int64_t i = begin + me * kRun; i < end; i += all * kRun) body(Width<kRun>(), i);
  if (end + me < count) body(Width<1>(), end + me);
}

// The same as ForEach() over the threads of the whole grid.
template <int kRun = kPack, typename Body>
MUSTER_DEVICE void ForEachOfGrid(const Thread& thread, int64_t count, bool packed,
                                 const Body& body) {
  ForEach<kRun>(thread.block() * thread.threads() + thread.index(),
                thread.blocks() * thread.threads(), count, packed, body);
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_ELEMENTS_H_
