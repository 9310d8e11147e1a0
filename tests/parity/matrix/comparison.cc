#include "tests/parity/matrix/comparison.h"

#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// Returns how far each weight has moved: most of a weight is its initial value.
Tensors Moved(const Tensors& initial, const Tensors& weights) {
  Tensors moved;
  for (const auto& [name, tensor] : weights) {
    const auto found = initial.find(name);
    if (found != initial.end()) moved[name] = tensor.sub(found->second);
  }
  return moved;
}

}  // namespace

absl::StatusOr<Comparison> Comparison::Make(const ToyRun& run, const MatrixRow& reference) {
  MUSTER_ASSIGN_OR_RETURN(Curve one, TrainCurve(run, reference, kMatrixSteps));
  const double limit = run.precision == "fp64" ? 1e-10 : 1e-5;
  return Comparison(std::move(one), limit, run.precision == "fp16" ? 1e-4 : limit);
}

Figure Comparison::Weights(const std::string& what, const Tensors& ours, int64_t steps) const {
  const Tensors& initial = one_.weights.at(0);
  return {what, WorstError(Moved(initial, ours), Moved(initial, one_.weights.at(steps))),
          weights_limit_};
}

// Compares what was seen of the steps after `begin` up to `end`.
Figure Comparison::Seen(const std::string& what, const std::vector<SeenStep>& seen,
                        double SeenStep::* of_seen, std::vector<double> Curve::* of_curve,
                        int64_t begin, int64_t end) const {
  std::vector<double> ours, theirs;
  for (int64_t step = begin + 1; step <= end; ++step) {
    const size_t before = ours.size();
    for (const SeenStep& each : seen) {
      if (each.step != step) continue;
      ours.push_back(each.*of_seen);
      theirs.push_back((one_.*of_curve).at(static_cast<size_t>(step - 1)));
    }
    if (ours.size() == before) return {what, WorstError({}, {}, 1), limit_};
  }
  return {what, WorstError(ours, theirs, ours.size()), limit_};
}

std::vector<Figure> Comparison::OfDisturbed(const DisturbedRun& run) const {
  const auto seen = [&](const std::string& what, bool loss, int64_t begin, int64_t end) {
    return Seen(what, run.steps, loss ? &SeenStep::loss : &SeenStep::norm,
                loss ? &Curve::losses : &Curve::norms, begin, end);
  };
  return {seen("rank lost, loss", true, 0, kComparedSteps),
          seen("rank lost, norm", false, 0, kComparedSteps),
          seen("loaded, loss", true, kComparedSteps, kMatrixSteps),
          seen("loaded, norm", false, kComparedSteps, kMatrixSteps),
          Weights("loaded, weights", run.last_weights, kMatrixSteps)};
}

std::vector<Figure> Comparison::OfCurve(const Curve& curve, int64_t steps) const {
  const auto count = static_cast<size_t>(steps);
  const auto first = [&](std::vector<double> numbers) {
    numbers.resize(count);
    return numbers;
  };
  std::vector<Figure> figures = {
      {"loss", WorstError(curve.losses, first(one_.losses), count), limit_},
      {"norm", WorstError(curve.norms, first(one_.norms), count), limit_}};
  for (const int64_t step : std::set<int64_t>{1, steps}) {
    figures.push_back({absl::StrCat("gradients, step ", step),
                       WorstError(curve.gradients.at(step), one_.gradients.at(step)), limit_});
    figures.push_back(Weights(absl::StrCat("weights, step ", step), curve.weights.at(step), step));
  }
  return figures;
}

}  // namespace muster::trainer
