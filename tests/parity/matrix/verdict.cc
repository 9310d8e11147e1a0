#include "tests/parity/matrix/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::trainer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = 1e-30;  // the least that an error is divided by

bool AreComparable(const std::vector<double>& ours, const std::vector<double>& theirs,
                   size_t count) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return count > 0 && ours.size() == count && theirs.size() == count &&
         std::all_of(ours.begin(), ours.end(), finite) &&
         std::all_of(theirs.begin(), theirs.end(), finite);
}

// Returns the relative error, by norm; infinity or NaN if a number of either side is not finite,
// because the difference is not finite then.
double ErrorOf(const at::Tensor& ours, const at::Tensor& theirs) {
  const at::Tensor wide = theirs.to(at::kDouble);
  const double difference = ours.to(at::kDouble).sub(wide).norm().item<double>();
  return difference / std::max(wide.norm().item<double>(), kSmallest);
}

}  // namespace

double WorstError(const std::vector<double>& ours, const std::vector<double>& theirs,
                  size_t count) {
  if (!AreComparable(ours, theirs, count)) return kInfinity;
  double worst = 0;
  for (size_t i = 0; i < count; ++i) {
    worst =
        std::max(worst, std::abs(ours[i] - theirs[i]) / std::max(std::abs(theirs[i]), kSmallest));
  }
  return worst;
}

double WorstError(const Tensors& ours, const Tensors& theirs) {
  if (ours.size() != theirs.size() || theirs.empty()) return kInfinity;
  double worst = 0;
  for (const auto& [name, tensor] : theirs) {
    const auto found = ours.find(name);
    if (found == ours.end() || found->second.sizes() != tensor.sizes()) return kInfinity;
    const double error = ErrorOf(found->second, tensor);
    if (!std::isfinite(error)) return kInfinity;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace muster::trainer
