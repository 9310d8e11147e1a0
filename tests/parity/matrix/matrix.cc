// usage: matrix gpt2|llama|bloom pairwise|all
//
// Trains a toy of the family on layouts of the parity matrix, those of the pairwise cover or all of
// them, and those in BF16 and FP16, and compares each with one rank: undisturbed, and with a rank
// lost and other ranks going on. Prints one line for each row, as JSON: its name, the seed of what
// happened to it, and by column the error and its limit. Fails if an error exceeds its limit.
// MUSTER_SEED, if set, is the seed of every row.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "planner/activations.h"
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

// Returns the format of what blocks save, and if they save less, also which of them do.
std::string FormatOf(const MatrixRow& row) {
  const planner::ActivationOptions& kept = row.activations;
  if (kept.format == planner::SavedFormat::kWhole) return "";
  return absl::StrCat(" ", static_cast<int>(kept.format), " ", kept.recompute_every);
}

// Returns the row that a run goes on in: the next one of its precision, optimizer and format, and
// in narrow types, where the cut of the work decides the roundings, of its cut.
const MatrixRow& After(const std::vector<MatrixRow>& rows, size_t row) {
  size_t next = row;
  do {
    next = (next + 1) % rows.size();
  } while (rows[next].precision != rows[row].precision ||
           rows[next].optimizer != rows[row].optimizer ||
           FormatOf(rows[next]) != FormatOf(rows[row]) ||
           (rows[row].precision != "fp64" && !rows[next].DividesAs(rows[row])));
  return rows[next];
}

// Returns whether runs whose sums of gradients differ by rounding stay close. In BF16 and FP16 they
// do not: the last bit of a weight decides now and then which number it is rounded to, and all
// products of the next step show it. So one step is compared as it is, and several in deterministic
// mode, in which layouts add gradients in the same order. The products have to be the same too,
// those of the same micro-batches and the same cut.
bool StaysClose(const ToyRun& run) { return run.precision == "fp64"; }

absl::StatusOr<Comparison> MakeComparison(ToyRun run, const MatrixRow& row) {
  run.deterministic = !StaysClose(run);
  if (row.activations.format != planner::SavedFormat::kWhole) {
    // INT8 rounds numbers together that lie together in a micro-batch.
    return Comparison::Make(run, {.micro_batches = row.micro_batches,
                                  .optimizer = run.optimizer,
                                  .activations = row.activations});
  }
  if (StaysClose(run)) return Comparison::Make(run, {});
  return Comparison::Make(run, {.ranks = row.together(),
                                .tensor = row.tensor,
                                .pipeline = row.pipeline,
                                .context = row.context,
                                .exchange = row.exchange,
                                .micro_batches = row.micro_batches});
}

// Runs a row and fills its line; returns true if it passes.
absl::StatusOr<bool> RunRow(ToyRun run, const Comparison& comparison, const MatrixRow& row,
                            const MatrixRow& loaded, Json& line) {
  const uint64_t seed = NewSeed();
  line["precision"] = row.precision;
  line["optimizer"] = row.optimizer;
  line["row"] = row.name();
  line["loadedAs"] = loaded.name();
  line["seed"] = seed;
  const int64_t steps = StaysClose(run) ? kComparedSteps : 1;
  MUSTER_ASSIGN_OR_RETURN(const Curve curve, TrainCurve(run, row, steps));
  std::vector<Figure> figures = comparison.OfCurve(curve, steps);
  run.deterministic = !StaysClose(run);
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
  const planner::ModelShape shape = ToyShape(run.family);
  const Heads heads{.queries = shape.heads,
                    .keys = shape.key_value_heads > 0 ? shape.key_value_heads : shape.heads};
  std::vector<MatrixRow> rows = MatrixRows(/*pairwise=*/chosen == "pairwise", heads);
  for (MatrixRow& row : NarrowRows()) rows.push_back(std::move(row));
  for (MatrixRow& row : PackedRows()) rows.push_back(std::move(row));
  std::map<std::string, Comparison> comparisons;  // by precision, optimizer and format
  bool all_pass = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    run.precision = rows[i].precision;
    run.optimizer = rows[i].optimizer;
    std::string kind = absl::StrCat(run.precision, " ", run.optimizer, FormatOf(rows[i]));
    if (!StaysClose(run)) {
      absl::StrAppend(&kind, " ", rows[i].tensor, " ", rows[i].pipeline, " ", rows[i].context, " ",
                      rows[i].exchange == ContextExchange::kRing);
    }
    if (!comparisons.contains(kind)) {
      MUSTER_ASSIGN_OR_RETURN(Comparison comparison, MakeComparison(run, rows[i]));
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
  return all_pass;
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  if (argc != 3 || !std::set<std::string>{"pairwise", "all"}.contains(argv[2])) {
    std::fprintf(stderr, "usage: matrix gpt2|llama|bloom pairwise|all\n");
    return 2;
  }
  at::set_num_threads(1);
  const auto passes = muster::trainer::RunRows(argv[1], argv[2]);
  if (!passes.ok()) std::fprintf(stderr, "matrix: %s\n", passes.status().ToString().c_str());
  return passes.value_or(false) ? 0 : 1;
}
