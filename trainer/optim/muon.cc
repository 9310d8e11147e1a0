#include "trainer/optim/muon.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "ATen/ops/addmm.h"
#include "ATen/ops/isfinite.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/zeros.h"
#include "base/status_macros.h"
#include "trainer/optim/adamw_step.h"
#include "trainer/optim/matrix_owners.h"
#include "trainer/optim/optimizer_runs.h"

namespace muster::trainer {
namespace {

// Makes the mean square of an update's elements that of AdamW's (Liu et al., 2025).
constexpr double kStep = 0.2;

// The Newton-Schulz iteration (Jordan et al., 2024).
constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kEpsilon = 1e-7;

// Returns about U V^T of a matrix U S V^T: kIterations steps of
//   X <- a X + (b A + c A^2) X,   A = X X^T
// from X = matrix / (|matrix| + epsilon) on, in the matrix's type, of the transposed matrix if it
// has more rows than columns. The singular values of the result are between about 0.7 and 1.2.
// Takes memory for two more matrices of its shape and three of its smaller side squared.
at::Tensor Orthogonalize(const at::Tensor& matrix) {
  const bool turned = matrix.size(0) > matrix.size(1);
  at::Tensor x = turned ? matrix.t() : matrix;
  x = x.div(x.norm().add_(kEpsilon));
  for (int step = 0; step < kIterations; ++step) {
    const at::Tensor a = at::matmul(x, x.t());
    const at::Tensor b = at::addmm(a, a, a, /*beta=*/kB, /*alpha=*/kC);
    x = at::addmm(x, b, x, /*beta=*/kA, /*alpha=*/1.0);
  }
  return turned ? x.t() : x;
}

bool IsMatrix(const OptimizerTensor& tensor) {
  return tensor.shape.size() == 2 && std::min(tensor.shape[0], tensor.shape[1]) > 1 &&
         !tensor.is_of_ends;
}

std::vector<SharedMatrix> FindMatrices(const std::vector<OptimizerUnit>& units) {
  std::vector<SharedMatrix> out;
  for (size_t u = 0; u < units.size(); ++u) {
    for (const OptimizerTensor& tensor : units[u].tensors) {
      if (IsMatrix(tensor)) out.push_back(SharedMatrix::Of(units, static_cast<int>(u), tensor));
    }
  }
  return out;
}

// Cuts slices into the runs between the matrices.
std::vector<std::vector<OptimizerRun>> RunsOfTheRest(
    const std::vector<OptimizerUnit>& units, const std::vector<std::vector<at::Tensor>>& state) {
  std::vector<std::vector<OptimizerRun>> runs(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const OptimizerUnit& unit = units[u];
    const int64_t all = unit.values.numel();
    for (const OptimizerTensor& tensor : unit.tensors) {
      if (IsMatrix(tensor)) continue;
      const int64_t begin = std::clamp(tensor.offset - unit.begin, int64_t{0}, all);
      const int64_t end = std::clamp(tensor.offset + tensor.size - unit.begin, int64_t{0}, all);
      if (begin < end) runs[u].push_back(RunOf(unit, state[u], begin, end, tensor.settings));
    }
  }
  return runs;
}

class Muon final : public Optimizer {
 public:
  Muon(const OptimizerOptions& options, const std::vector<OptimizerUnit>& units)
      : options_(options),
        state_(ZeroState(units, 2)),
        matrices_(FindMatrices(units)),
        rest_(RunsOfTheRest(units, state_)),
        runs_of_units_(units.size()) {
    for (size_t m = 0; m < matrices_.size(); ++m) {
      const SharedMatrix& matrix = matrices_[m];
      const auto u = static_cast<size_t>(matrix.unit);
      runs_.push_back(RunOf(units[u], state_[u], matrix.begin, matrix.begin + matrix.count,
                            matrix.tensor.settings));
      runs_of_units_[u].push_back(m);
      updates_.push_back(at::zeros({matrix.count}, units[u].values.options()));
    }
  }

  void Configure(const OptimizerOptions& options) override { options_ = options; }
  bool has_prepare() const override { return true; }

  absl::StatusOr<bool> Prepare(const UpdateOptions& options,
                               const OptimizerContext& context) override {
    bool finite = true;
    int brought = -1;  // the unit that has memory
    const auto read = [&](size_t m) -> absl::StatusOr<at::Tensor> {
      const int unit = matrices_[m].unit;
      if (brought != unit) {
        if (brought >= 0) context.Drop(std::exchange(brought, -1));
        MUSTER_RETURN_IF_ERROR(context.Bring(unit));
        brought = unit;
      }
      return ToTurn(m, options);
    };
    const auto turn = [&](const at::Tensor& matrix) {
      at::Tensor update = Orthogonalize(matrix);
      finite = finite && at::isfinite(update).all().item<bool>();
      const auto longer = static_cast<double>(std::max(matrix.size(0), matrix.size(1)));
      return update.mul_(kStep * std::sqrt(longer));
    };
    const absl::Status run = MatrixOwners(matrices_, context).Run(read, turn, updates_);
    if (brought >= 0) context.Drop(brought);
    if (!run.ok()) return run;
    return finite;
  }

  void Apply(int unit, const UpdateOptions& options) override {
    const auto u = static_cast<size_t>(unit);
    for (const size_t m : runs_of_units_[u]) {
      const OptimizerRun& run = runs_[m];
      run.state[0].mul_(options_.beta1).add_(run.gradients.mul_(options.gradient_factor));
      const double rate = run.LearningRate(options), decay = run.WeightDecay(options_);
      if (decay != 0.0) run.values.mul_(1.0 - rate * decay);
      run.values.add_(updates_[m].mul(-rate));
    }
    adamw_.Apply(rest_[u], options_, options);
  }
  const std::vector<std::string>& state_names() const override { return names_; }
  std::vector<at::Tensor> state(int unit) const override { return state_[unit]; }

 private:
  // Returns this rank's elements of the matrix that is turned into an update.
  at::Tensor ToTurn(size_t m, const UpdateOptions& options) const {
    const OptimizerRun& run = runs_[m];
    const at::Tensor gradients = run.gradients.mul(options.gradient_factor);
    at::Tensor sum = run.state[0].mul(options_.beta1).add_(gradients);
    return sum.mul_(options_.beta1).add_(gradients);
  }

  OptimizerOptions options_;
  AdamWStep adamw_;
  const std::vector<std::string> names_ = {"exp_avg", "exp_avg_sq"};
  const std::vector<std::vector<at::Tensor>> state_;
  const std::vector<SharedMatrix> matrices_;
  std::vector<OptimizerRun> runs_;                     // by matrix
  const std::vector<std::vector<OptimizerRun>> rest_;  // by unit
  std::vector<std::vector<size_t>> runs_of_units_;
  std::vector<at::Tensor> updates_;  // by matrix; written by Prepare
};

}  // namespace

std::unique_ptr<Optimizer> MakeMuon(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units) {
  return std::make_unique<Muon>(options, units);
}

}  // namespace muster::trainer
