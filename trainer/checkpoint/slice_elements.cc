#include "trainer/checkpoint/slice_elements.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {
namespace {

const std::vector<int64_t>& ViewOf(const TensorRecord& tensor, const TensorSlice& slice) {
  return slice.box.view.empty() ? tensor.shape : slice.box.view;
}

// Returns the place in the tensor of an element of the slice's box.
uint64_t PlaceInTensor(const TensorRecord& tensor, const TensorSlice& slice, uint64_t element) {
  if (slice.box.whole()) return element;
  const std::vector<int64_t>& view = ViewOf(tensor, slice);
  uint64_t rest = element, place = 0, stride = 1;
  for (size_t d = view.size(); d-- > 0;) {
    const uint64_t length = static_cast<uint64_t>(slice.box.lengths[d]);
    place += (static_cast<uint64_t>(slice.box.start[d]) + rest % length) * stride;
    rest /= length;
    stride *= static_cast<uint64_t>(view[d]);
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

// A box that spans all of its view but in one dimension is stripes.
bool MayMeet(const TensorRecord& tensor, const TensorSlice& slice, const Stripes& wanted) {
  if (slice.box.whole()) return true;
  const std::vector<int64_t>& view = ViewOf(tensor, slice);
  uint64_t inner = 1;
  for (size_t d = view.size(); d-- > 0;) {
    const auto size = static_cast<uint64_t>(view[d]);
    const auto begin = static_cast<uint64_t>(slice.box.start[d]) * inner;
    const uint64_t end = begin + static_cast<uint64_t>(slice.box.lengths[d]) * inner;
    inner *= size;
    if (slice.box.lengths[d] == view[d]) continue;
    // Whatever the outer dimensions leave out, of each `inner` elements none is outside of this.
    return inner != wanted.stride || (begin < wanted.begin + wanted.length && wanted.begin < end);
  }
  return true;
}

void CopyFromSlice(const TensorRecord& tensor, const TensorSlice& slice, ElementRange run,
                   const char* from, const Stripes& wanted, uint64_t first,
                   std::span<std::byte> into) {
  const uint64_t width = ElementBytes(tensor.type), last = first + into.size() / width;
  const uint64_t row =
      slice.box.whole() ? run.end : static_cast<uint64_t>(slice.box.lengths.back());
  for (uint64_t at = run.begin; at < run.end;) {
    const uint64_t row_end = std::min(run.end, (at / row + 1) * row);
    uint64_t place = PlaceInTensor(tensor, slice, at);
    while (at < row_end) {
      const uint64_t in_stride = place % wanted.stride;
      uint64_t step = 0;  // elements that are copied, or left out, together
      if (in_stride < wanted.begin) {
        step = std::min(wanted.begin - in_stride, row_end - at);
      } else if (in_stride >= wanted.begin + wanted.length) {
        step = std::min(wanted.stride - in_stride, row_end - at);
      } else {
        step = std::min(wanted.begin + wanted.length - in_stride, row_end - at);
        const uint64_t element = place / wanted.stride * wanted.length + in_stride - wanted.begin;
        const uint64_t begin = std::max(element, first), end = std::min(element + step, last);
        if (begin < end) {
          std::memcpy(into.data() + (begin - first) * width,
                      from + (at - run.begin + begin - element) * width, (end - begin) * width);
        }
      }
      at += step;
      place += step;
    }
  }
}

}  // namespace muster::trainer
