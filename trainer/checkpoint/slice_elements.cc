#include "trainer/checkpoint/slice_elements.h"

#include <algorithm>
#include <cstring>

#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {
namespace {

// Returns the place in the tensor of an element of the slice's box.
uint64_t PlaceInTensor(const TensorRecord& tensor, const TensorSlice& slice, uint64_t element) {
  if (slice.lengths.empty()) return element;
  uint64_t rest = element, place = 0, stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    const uint64_t length = static_cast<uint64_t>(slice.lengths[d]);
    place += (static_cast<uint64_t>(slice.start[d]) + rest % length) * stride;
    rest /= length;
    stride *= static_cast<uint64_t>(tensor.shape[d]);
  }
  return place;
}

// Returns the first element of the slice whose place is not before `place`.
uint64_t FirstFrom(const TensorRecord& tensor, const TensorSlice& slice, uint64_t place) {
  uint64_t low = slice.begin, high = slice.begin + slice.count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (PlaceInTensor(tensor, slice, middle) < place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

ElementRange RunInSlice(const TensorRecord& tensor, const TensorSlice& slice,
                        ElementRange of_tensor) {
  const uint64_t begin = FirstFrom(tensor, slice, of_tensor.begin);
  return {begin, std::max(begin, FirstFrom(tensor, slice, of_tensor.end))};
}

void CopyFromBox(const TensorRecord& tensor, const TensorSlice& slice, ElementRange run,
                 const char* from, uint64_t first, std::span<std::byte> into) {
  const uint64_t width = ElementBytes(tensor.type);
  const uint64_t row = static_cast<uint64_t>(slice.lengths.back());
  for (uint64_t at = run.begin; at < run.end;) {
    const uint64_t together = std::min(row - at % row, run.end - at);
    std::memcpy(into.data() + (PlaceInTensor(tensor, slice, at) - first) * width,
                from + (at - run.begin) * width, together * width);
    at += together;
  }
}

}  // namespace muster::trainer
