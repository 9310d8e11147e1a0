#include "trainer/cuda/kernels/pack_heads.h"

#include <limits>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

constexpr int kParts = 3;

// A thread copies a unit: an element, or 16 bytes of them. Widths and strides are in units.
// Divisions of Index are most of the work, so that it is 32 bits wide where that is enough.
template <typename Unit, typename Index>
struct Copy {
  static constexpr int kThreads = 256;
  struct Shared {};

  Heads parts[kParts];
  Index positions, heads, width;
  bool by_head;
  int64_t units;
  void* packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    ForEachOfGrid(thread, units, /*packed=*/false, [&](auto, int64_t unit) {
      const Index row = static_cast<Index>(unit) / width;
      const Index inner = row % (by_head ? kParts : heads);
      const Index outer = row / (by_head ? kParts : heads);
      const Index part = by_head ? inner : outer % kParts;
      const Index head = by_head ? outer % heads : inner;
      const Index place = outer / (by_head ? heads : kParts);
      const Heads& from = part == 0 ? parts[0] : part == 1 ? parts[1] : parts[2];
      const int64_t begin = place / positions * from.batch_stride +
                            place % positions * from.position_stride + head * from.head_stride;
      static_cast<Unit*>(packed)[unit] =
          static_cast<const Unit*>(from.data)[begin + static_cast<Index>(unit) % width];
    });
  }
};

template <typename Unit, typename Index>
LaunchResult LaunchCopy(const PackHeads& pack, int64_t elements_per_unit, Stream stream) {
  Copy<Unit, Index> copy{
      .parts = {pack.parts[0], pack.parts[1], pack.parts[2]},
      .positions = static_cast<Index>(pack.positions),
      .heads = static_cast<Index>(pack.heads),
      .width = static_cast<Index>(pack.width / elements_per_unit),
      .by_head = pack.by_head,
      .units = pack.batch * pack.positions * kParts * pack.heads * pack.width / elements_per_unit,
      .packed = pack.packed};
  for (Heads& part : copy.parts) {
    part.batch_stride /= elements_per_unit;
    part.position_stride /= elements_per_unit;
    part.head_stride /= elements_per_unit;
  }
  return Launch(copy, BlocksFor(copy.units, copy.kThreads), stream);
}

template <typename Unit>
LaunchResult LaunchUnits(const PackHeads& pack, int64_t elements_per_unit, Stream stream) {
  const int64_t elements = pack.batch * pack.positions * kParts * pack.heads * pack.width;
  return elements <= std::numeric_limits<uint32_t>::max()
             ? LaunchCopy<Unit, uint32_t>(pack, elements_per_unit, stream)
             : LaunchCopy<Unit, int64_t>(pack, elements_per_unit, stream);
}

struct alignas(16) Bytes16 {
  uint32_t words[4];
};

// Tells whether heads begin at multiples of 16 bytes everywhere.
template <typename T>
bool AreAligned(const PackHeads& pack) {
  for (const Heads& part : pack.parts) {
    if (!ArePacked<T, kWidePack<T>>({part.data}) || part.batch_stride % kWidePack<T> != 0 ||
        part.position_stride % kWidePack<T> != 0 || part.head_stride % kWidePack<T> != 0) {
      return false;
    }
  }
  return ArePacked<T, kWidePack<T>>({pack.packed}) && pack.width % kWidePack<T> == 0;
}

}  // namespace

LaunchResult LaunchPackHeads(const PackHeads& pack, Stream stream) {
  return WithElement(pack.element, [&]<typename T>(T*) {
    return AreAligned<T>(pack) ? LaunchUnits<Bytes16>(pack, kWidePack<T>, stream)
                               : LaunchUnits<T>(pack, 1, stream);
  });
}

}  // namespace muster::trainer::cuda
