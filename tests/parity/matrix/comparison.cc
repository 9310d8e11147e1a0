#include "tests/parity/matrix/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// Returns numbers `begin` to `end`; fewer if there are not so many.
std::vector<double> Part(const std::vector<double>& numbers, size_t begin, size_t end) {
  if (numbers.size() < end) return {};
  return {numbers.begin() + static_cast<ptrdiff_t>(begin),
          numbers.begin() + static_cast<ptrdiff_t>(end)};
}

// Returns how far each weight has moved: most of a weight is its initial value.
Tensors Moved(const Tensors& initial, const Tensors& weights) {
  Tensors moved;
  for (const auto& [name, tensor] : weights) {
    const auto found = initial.find(name);
    if (found != initial.end()) moved[name] = tensor.sub(found->second);
  }
  return moved;
}

// Returns the numbers of these steps.
std::vector<double> At(const std::vector<int64_t>& steps, const std::vector<double>& curve) {
  std::vector<double> numbers;
  for (const int64_t step : steps) numbers.push_back(curve.at(static_cast<size_t>(step - 1)));
  return numbers;
}

}  // namespace

Comparison::Comparison(const ToyRun& run, std::vector<Curve> ones, std::optional<Curve> exact)
    : run_(run), ones_(std::move(ones)), exact_(std::move(exact)) {}

absl::StatusOr<Comparison> Comparison::Make(const ToyRun& run) {
  std::vector<Curve> ones;
  std::optional<Curve> exact;
  std::vector<int64_t> cuts = {1};
  if (run.precision == "bf16") {
    cuts = {1, 2, 3, 4, 6, 12};
    ToyRun wide = run;
    wide.precision = "fp32";
    MUSTER_ASSIGN_OR_RETURN(exact, TrainCurve(wide, {}, kToySteps));
  }
  for (const bool nudged : {false, true}) {
    if (nudged && !exact) break;
    for (const int64_t cut : cuts) {
      MUSTER_ASSIGN_OR_RETURN(Curve one,
                              TrainCurve(run, {.micro_batches = cut}, kToySteps, nudged));
      ones.push_back(std::move(one));
    }
  }
  return Comparison(run, std::move(ones), std::move(exact));
}

double Comparison::FarthestOf(const std::function<double(const Curve&)>& distance) const {
  double farthest = 0.0;
  for (const Curve& one : ones_) farthest = std::max(farthest, distance(one));
  // A limit that is not a number is met by nothing.
  return std::isfinite(farthest) ? kBf16Factor * farthest
                                 : std::numeric_limits<double>::quiet_NaN();
}

double Comparison::FarthestOf(std::vector<double> Curve::* of_curve,
                              const std::function<double(const Curve&)>& distance) const {
  const double noise = of_curve == &Curve::losses ? kBf16LossNoise : 0.0;
  // NaN stays NaN.
  return std::max(FarthestOf(distance), noise);
}

double Comparison::Limit(bool first) const {
  if (run_.precision == "fp64") return 1e-10;
  return first ? 1e-5 : 1e-4;
}

// Compares the numbers of the steps after `begin` up to `end`, `ours` with one rank's.
Figure Comparison::Numbers(const std::string& what, const std::vector<double>& ours,
                           std::vector<double> Curve::* of_curve, size_t begin, size_t end) const {
  const size_t count = end - begin;
  if (!exact_) {
    return {what, WorstError(ours, Part(one().*of_curve, begin, end), count), Limit(end == 1)};
  }
  const std::vector<double> exact = Part((*exact_).*of_curve, begin, end);
  return {what, MeanError(ours, exact, count), FarthestOf(of_curve, [&](const Curve& one) {
            return MeanError(Part(one.*of_curve, begin, end), exact, count);
          })};
}

Figure Comparison::Gradients(const std::string& what, const Tensors& ours,
                             Tensors Curve::* of_curve, bool first) const {
  if (!exact_) return {what, WorstError(ours, one().*of_curve), Limit(first)};
  const Tensors& exact = (*exact_).*of_curve;
  return {what, MeanError(ours, exact),
          FarthestOf([&](const Curve& one) { return MeanError(one.*of_curve, exact); })};
}

Figure Comparison::Weights(const std::string& what, const Tensors& ours,
                           Tensors Curve::* of_curve) const {
  const Tensors& initial = one().initial;
  const Tensors moved = Moved(initial, ours);
  if (!exact_) return {what, WorstError(moved, Moved(initial, one().*of_curve)), Limit(false)};
  const Tensors exact = Moved(initial, (*exact_).*of_curve);
  return {what, MeanError(moved, exact), FarthestOf([&](const Curve& one) {
            return MeanError(Moved(initial, one.*of_curve), exact);
          })};
}

// Compares what was seen of the steps after `begin` up to `end`.
Figure Comparison::Seen(const std::string& what, const std::vector<SeenStep>& seen,
                        double SeenStep::* of_seen, std::vector<double> Curve::* of_curve,
                        int64_t begin, int64_t end) const {
  std::vector<double> ours;
  std::vector<int64_t> steps;
  for (int64_t step = begin + 1; step <= end; ++step) {
    const size_t before = ours.size();
    for (const SeenStep& each : seen) {
      if (each.step != step) continue;
      ours.push_back(each.*of_seen);
      steps.push_back(step);
    }
    if (ours.size() == before) return {what, WorstError({}, {}, 1), 0.0};
  }
  if (!exact_)
    return {what, WorstError(ours, At(steps, one().*of_curve), ours.size()), Limit(false)};
  const std::vector<double> exact = At(steps, (*exact_).*of_curve);
  return {what, MeanError(ours, exact, ours.size()), FarthestOf(of_curve, [&](const Curve& one) {
            return MeanError(At(steps, one.*of_curve), exact, exact.size());
          })};
}

std::vector<Figure> Comparison::OfDisturbed(const DisturbedRun& run) const {
  return {
      Seen("rank lost, loss", run.steps, &SeenStep::loss, &Curve::losses, 0, kComparedSteps),
      Seen("rank lost, norm", run.steps, &SeenStep::norm, &Curve::norms, 0, kComparedSteps),
      Seen("loaded, loss", run.steps, &SeenStep::loss, &Curve::losses, kComparedSteps, kToySteps),
      Seen("loaded, norm", run.steps, &SeenStep::norm, &Curve::norms, kComparedSteps, kToySteps),
      Weights("loaded, weights", run.last_weights, &Curve::last_weights)};
}

std::vector<Figure> Comparison::OfCurve(const Curve& curve) const {
  std::vector<Figure> figures;
  for (const bool losses : {true, false}) {
    const std::string what = losses ? "loss" : "norm";
    const auto of = losses ? &Curve::losses : &Curve::norms;
    // In BF16 the distance of one number is chance.
    if (!exact_) {
      figures.push_back(Numbers(absl::StrCat(what, ", step 1"), Part(curve.*of, 0, 1), of, 0, 1));
    }
    figures.push_back(Numbers(absl::StrCat(what, ", 20 steps"), curve.*of, of, 0, kComparedSteps));
  }
  figures.push_back(
      Gradients("gradients, step 1", curve.first_gradients, &Curve::first_gradients, true));
  figures.push_back(Gradients("gradients, step 20", curve.gradients, &Curve::gradients, false));
  figures.push_back(Weights("weights, step 20", curve.weights, &Curve::weights));
  return figures;
}

}  // namespace muster::trainer
