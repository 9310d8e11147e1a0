// usage: matrix gpt2|llama|bloom pairwise|fp64|fp32|bf16
//
// Trains a toy of the family on layouts of the parity matrix, those of the pairwise cover or all of
// one precision, and compares each with one rank:
// undisturbed, and with a rank lost and other ranks going on. Prints one line for each row, as
// JSON: its name, the seed of what happened to it, and by column the error and its limit. Fails if
// an error exceeds its limit. MUSTER_SEED, if set, is the seed of every row.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "planner/model_shape.h"
#include "tests/parity/matrix/comparison.h"
#include "tests/parity/matrix/curve.h"
#include "tests/parity/matrix/disturbed.h"
#include "tests/parity/matrix/rows.h"
#include "tests/parity/toy_run.h"

namespace muster::trainer {
namespace {

uint64_t NewSeed() {
  uint64_t seed = 0;
  const char* given = std::getenv("MUSTER_SEED");
  return given != nullptr && absl::SimpleAtoi(given, &seed) ? seed : std::random_device()();
}

// Returns the row that a run goes on in: the next one of its precision and optimizer.
const MatrixRow& After(const std::vector<MatrixRow>& rows, size_t row) {
  size_t next = row;
  do {
    next = (next + 1) % rows.size();
  } while (rows[next].precision != rows[row].precision ||
           rows[next].optimizer != rows[row].optimizer);
  return rows[next];
}

// Runs a row and fills its line; returns true if it passes.
absl::StatusOr<bool> RunRow(const ToyRun& run, const Comparison& comparison, const MatrixRow& row,
                            const MatrixRow& loaded, Json& line) {
  const uint64_t seed = NewSeed();
  line["precision"] = row.precision;
  line["optimizer"] = row.optimizer;
  line["row"] = row.name();
  line["loadedAs"] = loaded.name();
  line["seed"] = seed;
  MUSTER_ASSIGN_OR_RETURN(const Curve curve, TrainCurve(run, row, kComparedSteps));
  std::vector<Figure> figures = comparison.OfCurve(curve);
  MUSTER_ASSIGN_OR_RETURN(const DisturbedRun disturbed, TrainDisturbed(run, row, loaded, seed));
  line["lost"] = disturbed.loss;
  line["resume"] = disturbed.resume;
  for (const Figure& figure : comparison.OfDisturbed(disturbed)) figures.push_back(figure);
  bool passes = true;
  for (const Figure& figure : figures) {
    line["figures"][figure.what] = {{"error", figure.error}, {"limit", figure.limit}};
    passes = passes && figure.passes();
  }
  return passes;
}

absl::StatusOr<bool> RunRows(const std::string& family, const std::string& chosen) {
  ToyRun run;
  MUSTER_ASSIGN_OR_RETURN(run.family, planner::ParseModelFamily(family));
  std::vector<MatrixRow> rows = MatrixRows(chosen == "pairwise");
  if (chosen != "pairwise") {
    std::erase_if(rows, [&](const MatrixRow& row) { return row.precision != chosen; });
  }
  std::map<std::string, Comparison> comparisons;  // by precision and optimizer
  bool all_pass = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    run.precision = rows[i].precision;
    run.optimizer = rows[i].optimizer;
    const std::string kind = run.precision + run.optimizer;
    if (!comparisons.contains(kind)) {
      MUSTER_ASSIGN_OR_RETURN(Comparison comparison, Comparison::Make(run));
      comparisons.emplace(kind, std::move(comparison));
    }
    Json line = {{"family", family}};
    const auto passes = RunRow(run, comparisons.at(kind), rows[i], After(rows, i), line);
    line["passes"] = passes.value_or(false);
    if (!passes.ok()) line["error"] = passes.status().ToString();
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
    all_pass = all_pass && passes.value_or(false);
  }
  return all_pass && !rows.empty();
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: matrix gpt2|llama|bloom pairwise|fp64|fp32|bf16\n");
    return 2;
  }
  at::set_num_threads(1);
  const auto passes = muster::trainer::RunRows(argv[1], argv[2]);
  if (!passes.ok()) std::fprintf(stderr, "matrix: %s\n", passes.status().ToString().c_str());
  return passes.value_or(false) ? 0 : 1;
}
