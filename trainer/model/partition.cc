#include "trainer/model/partition.h"

#include <cstddef>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

int64_t Product(std::vector<int64_t>::const_iterator begin,
                std::vector<int64_t>::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

}  // namespace

absl::Status CheckParts(const Partition& partition, int parts) {
  if (partition.dimension < 0 || partition.pieces % parts == 0) return absl::OkStatus();
  if (partition.uneven && partition.pieces >= parts) return absl::OkStatus();
  int64_t below = parts, above = parts;
  while (partition.pieces % below != 0) --below;
  while (above < partition.pieces && partition.pieces % above != 0) ++above;
  std::string nearest = absl::StrCat(below);
  if (above <= partition.pieces) absl::StrAppend(&nearest, " or ", above);
  return absl::InvalidArgumentError(absl::StrCat(partition.pieces, " pieces cannot be shared by ",
                                                 parts, " ranks; the nearest numbers are ",
                                                 nearest));
}

ElementRun PiecesOfPart(const Partition& partition, ModelPart part) {
  const int64_t begin = partition.pieces * part.index / part.count;
  return {.begin = begin, .count = partition.pieces * (part.index + 1) / part.count - begin};
}

std::vector<int64_t> ShapeOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                 ModelPart part) {
  std::vector<int64_t> out = shape;
  if (partition.dimension < 0) return out;
  int64_t& divided = out[static_cast<size_t>(partition.dimension)];
  divided = divided / partition.pieces * PiecesOfPart(partition, part).count;
  return out;
}

PartBox BoxOfPart(const std::vector<int64_t>& shape, const Partition& partition, ModelPart part) {
  PartBox box = {.view = shape, .start = std::vector<int64_t>(shape.size()), .lengths = shape};
  if (partition.dimension < 0) return box;
  auto d = static_cast<size_t>(partition.dimension);
  if (partition.blocks > 1) {
    for (std::vector<int64_t>* dimensions : {&box.view, &box.start, &box.lengths}) {
      dimensions->insert(dimensions->begin() + partition.dimension, 0);
    }
    box.view[d] = box.lengths[d] = partition.blocks;
    box.view[++d] /= partition.blocks;
  }
  const int64_t piece = box.view[d] / partition.pieces;
  const ElementRun pieces = PiecesOfPart(partition, part);
  box.start[d] = pieces.begin * piece;
  box.lengths[d] = pieces.count * piece;
  return box;
}

PartStripes StripesOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                          ModelPart part) {
  const PartBox box = BoxOfPart(shape, partition, part);
  PartStripes stripes;
  for (size_t d = box.view.size(); d-- > 0;) {
    stripes.begin = box.start[d] * stripes.stride;
    stripes.length = box.lengths[d] * stripes.stride;
    stripes.stride *= box.view[d];
    if (box.lengths[d] != box.view[d]) break;
  }
  return stripes;
}

std::vector<ElementRun> RunsOfPart(const std::vector<int64_t>& shape, const Partition& partition,
                                   ModelPart part) {
  const PartStripes stripes = StripesOfPart(shape, partition, part);
  std::vector<ElementRun> runs;
  const int64_t whole = Product(shape.begin(), shape.end());
  for (int64_t first = stripes.begin; first < whole; first += stripes.stride) {
    runs.push_back({.begin = first, .count = stripes.length});
  }
  return runs;
}

}  // namespace muster::trainer
