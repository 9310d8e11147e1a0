#include "planner/fp8.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::planner {
namespace {

constexpr char kWhy[] =
    "train.precision: fp8 multiplies matrices whose dimensions are multiples of 16";

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool Fits(int64_t value, int64_t multiple) { return value % multiple == 0; }

// Returns the next width whose heads, and keys and values, are whole and fit.
int32_t NextWidth(ModelShape shape, int64_t multiple) {
  const auto fits = [&] {
    return shape.width % shape.heads == 0 && Fits(shape.width, multiple) &&
           Fits(shape.key_value_width(), multiple) && CheckShape(shape).ok();
  };
  do {
    ++shape.width;
  } while (!fits());
  return shape.width;
}

// Returns a sequence length near `sequence` with which a micro-batch has a multiple of `tokens`:
// the next one, or the one before it if that is more than `positions`; 0 if neither exists.
int64_t NearSequence(int64_t sequence, int64_t micro_batch, int64_t tokens, int64_t positions) {
  const int64_t multiple = tokens / std::gcd(tokens, micro_batch);
  const int64_t next = RoundUp(sequence, multiple);
  return next <= positions ? next : next - multiple;
}

}  // namespace

absl::Status CheckFp8(const ModelShape& shape, int64_t micro_batch, int64_t sequence, int tensor,
                      int context) {
  const int64_t multiple = kFp8Multiple * std::max(1, tensor);
  const std::string why =
      tensor > 1 ? absl::StrCat(kWhy, " on each of ", tensor, " ranks") : std::string(kWhy);
  if (!Fits(shape.width, multiple)) {
    return absl::InvalidArgumentError(absl::StrCat(why, ", and model.width is ", shape.width, ": ",
                                                   NextWidth(shape, multiple), " would do"));
  }
  if (!Fits(shape.key_value_width(), multiple)) {
    return absl::InvalidArgumentError(absl::StrCat(
        why, ", and model.keyValueHeads is ", shape.key_value_heads, " with ", shape.head_width(),
        " numbers each: model.width ", NextWidth(shape, multiple), " would do"));
  }
  if (!Fits(shape.feed_forward_width, multiple)) {
    return absl::InvalidArgumentError(
        absl::StrCat(why, ", and model.feedForwardWidth is ", shape.feed_forward_width, ": ",
                     RoundUp(shape.feed_forward_width, multiple), " would do"));
  }
  const int64_t tokens = kFp8Multiple * std::max(1, context);
  if (Fits(micro_batch * sequence, tokens)) return absl::OkStatus();
  const int64_t near = NearSequence(sequence, micro_batch, tokens, shape.positions);
  return absl::InvalidArgumentError(absl::StrCat(
      kWhy, context > 1 ? absl::StrCat(" on each of ", context, " ranks") : "",
      ", and train.microBatch x train.sequence is ", micro_batch, " x ", sequence, ": ",
      near > 0 ? absl::StrCat("sequence ", near) : absl::StrCat("microBatch ", tokens),
      " would do"));
}

}  // namespace muster::planner
