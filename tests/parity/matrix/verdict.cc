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

// Squares of norms.
struct Squares {
  double difference = 0, theirs = 0;
  double error() const { return std::sqrt(difference) / std::max(std::sqrt(theirs), kSmallest); }
};

// Returns the squares of each tensor; none if they are not comparable.
std::vector<Squares> SquaresOf(const Tensors& ours, const Tensors& theirs) {
  std::vector<Squares> squares;
  if (ours.size() != theirs.size()) return {};
  for (const auto& [name, tensor] : theirs) {
    const auto found = ours.find(name);
    if (found == ours.end() || found->second.sizes() != tensor.sizes()) return {};
    const at::Tensor wide = tensor.to(at::kDouble);
    const Squares of{found->second.to(at::kDouble).sub(wide).square().sum().item<double>(),
                     wide.square().sum().item<double>()};
    if (!std::isfinite(of.difference) || !std::isfinite(of.theirs)) return {};
    squares.push_back(of);
  }
  return squares;
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

double MeanError(const std::vector<double>& ours, const std::vector<double>& theirs, size_t count) {
  if (!AreComparable(ours, theirs, count)) return kInfinity;
  Squares sum;
  for (size_t i = 0; i < count; ++i) {
    sum.difference += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
    sum.theirs += theirs[i] * theirs[i];
  }
  return sum.error();
}

double WorstError(const Tensors& ours, const Tensors& theirs) {
  const std::vector<Squares> squares = SquaresOf(ours, theirs);
  double worst = squares.empty() ? kInfinity : 0;
  for (const Squares& each : squares) worst = std::max(worst, each.error());
  return worst;
}

double MeanError(const Tensors& ours, const Tensors& theirs) {
  const std::vector<Squares> squares = SquaresOf(ours, theirs);
  if (squares.empty()) return kInfinity;
  Squares sum;
  for (const Squares& each : squares) {
    sum.difference += each.difference;
    sum.theirs += each.theirs;
  }
  return sum.error();
}

}  // namespace muster::trainer
