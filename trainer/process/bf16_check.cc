#include "trainer/process/bf16_check.h"

#include <algorithm>
#include <limits>

#include "ATen/ATen.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/model/layers/linear.h"

namespace muster::trainer {
namespace {

// Makes a product large enough that the call itself costs little beside it, and small enough that
// eight of them take a few milliseconds where bf16 is slow.
constexpr int64_t kSize = 192;
constexpr int kTries = 3;
constexpr double kWorthAWarning = 2.0;

// Returns the best of a few tries, because other processes use this machine, too. The first product
// is not counted: it chooses and prepares its kernel.
double SecondsOf(const Clock& clock, c10::ScalarType type) {
  const at::Tensor x = at::full({kSize, kSize}, 0.5, at::dtype(type));
  LinearOutIn(x, x);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const absl::Time begin = clock.Monotonic();
    LinearOutIn(x, x);
    best = std::min(best, absl::ToDoubleSeconds(clock.Monotonic() - begin));
  }
  return best;
}

}  // namespace

absl::StatusOr<ProductTimes> MeasureProducts(const Clock& clock) {
  ProductTimes times;
  const absl::Status measured = CatchTorch("timing bfloat16", [&] {
    const at::NoGradGuard guard;
    times.fp32 = SecondsOf(clock, c10::ScalarType::Float);
    times.bf16 = SecondsOf(clock, c10::ScalarType::BFloat16);
    return absl::OkStatus();
  });
  if (!measured.ok()) return measured;
  return times;
}

std::optional<std::string> SlowBf16(const ProductTimes& times) {
  const double factor = times.bf16 / times.fp32;
  if (!(times.fp32 > 0.0) || !(factor > kWorthAWarning)) return std::nullopt;
  return absl::StrFormat(
      "this CPU has no fast bfloat16: a matrix product takes %.1f times as long as in fp32; train "
      "with precision fp32 on it",
      factor);
}

}  // namespace muster::trainer
