#include "tests/planner/measured_steps.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/files.h"
#include "base/status_macros.h"

namespace muster::planner {
namespace {

// The vocabulary of Megatron's GPT models, padded.
constexpr int32_t kMegatronVocabulary = 51200;

// One row of a file by the names of its columns.
using Row = std::map<std::string, std::string>;

absl::StatusOr<std::vector<Row>> ReadRows(const std::string& file) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.size() < 2) return absl::InvalidArgumentError(absl::StrCat(file, " has no rows"));
  const std::vector<std::string> names = absl::StrSplit(absl::StripAsciiWhitespace(lines[0]), ',');
  std::vector<Row> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells =
        absl::StrSplit(absl::StripAsciiWhitespace(lines[i]), ',');
    if (cells.size() != names.size()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": line ", i + 1, " has ", cells.size(),
                                                     " of ", names.size(), " columns"));
    }
    Row& row = rows.emplace_back();
    for (size_t c = 0; c < cells.size(); ++c) {
      row[std::string(absl::StripAsciiWhitespace(names[c]))] = cells[c];
    }
    row[""] = lines[i];
  }
  return rows;
}

// Returns a number of a row. A missing or wrong one is NaN, which no score survives.
double Number(const Row& row, const std::string& name) {
  const auto cell = row.find(name);
  double number = 0;
  if (cell == row.end() || !absl::SimpleAtod(cell->second, &number)) return std::nan("");
  return number;
}
int32_t Whole(const Row& row, const std::string& name) {
  const double number = Number(row, name);
  return number >= 1 ? static_cast<int32_t>(number) : 0;
}

ModelShape GptShape(int32_t layers, int32_t width, int32_t heads, int32_t sequence) {
  return CompleteShape({.family = ModelFamily::kGpt2,
                        .layers = layers,
                        .heads = heads,
                        .width = width,
                        .positions = sequence,
                        .vocabulary = kMegatronVocabulary});
}

MeasuredStep SeleneStep(const Row& row, Recompute recompute) {
  const int32_t chunks = Whole(row, "interleaving");
  const Device device = *FindDevice("A100-80GB");
  return {.row = row.at("model"),
          .work = {.shape = GptShape(Whole(row, "layers"), Whole(row, "hidden"),
                                     Whole(row, "heads"), Whole(row, "sequence")),
                   .precision = Precision::kFp16,
                   .sequence = Whole(row, "sequence"),
                   .global_batch = Whole(row, "batch")},
          .layout = {.data = Whole(row, "data"),
                     .tensor = Whole(row, "tensor"),
                     .pipeline = Whole(row, "pipeline"),
                     .schedule = chunks > 1 ? PipelineSchedule::kInterleaved
                                            : PipelineSchedule::kOneForwardOneBackward,
                     .chunks = chunks,
                     .micro_batch = Whole(row, "micro_batch"),
                     .recompute = recompute,
                     .sequence_parallel = recompute == Recompute::kSelective},
          .device = device,
          .wiring = WiringOf(device),
          .engine = SeleneEngine(),
          .seconds =
              Number(row, recompute == Recompute::kFull ? "seconds_full_recompute"
                                                        : "seconds_selective_sequence_parallel")};
}

MeasuredStep VTrainStep(const Row& row) {
  Device device = *FindDevice("A100-80GB");
  device.network_bandwidth = 100e9 / 8;  // 800 Gb/s for eight
  const int32_t sequence = Whole(row, "sequence length");
  return {.row = row.at(""),
          .work = {.shape = GptShape(Whole(row, "# layers"), Whole(row, "hidden size"),
                                     Whole(row, "attention heads"), sequence),
                   .precision = Precision::kFp16,
                   .sequence = sequence,
                   .global_batch = Whole(row, "global batch")},
          .layout = {.data = Whole(row, "data parallelism"),
                     .tensor = Whole(row, "tensor parallelism"),
                     .pipeline = Whole(row, "pipeline parallelism"),
                     .micro_batch = Whole(row, "micro batch"),
                     .recompute = Recompute::kFull,
                     .sequence_parallel = false},
          .device = device,
          .wiring = WiringOf(device),
          .engine = VTrainEngine(),
          .seconds = Number(row, "iteration time (ms)") / 1e3};
}

absl::StatusOr<MeasuredStep> MusterStep(const Row& row) {
  MUSTER_ASSIGN_OR_RETURN(const ModelFamily family, ParseModelFamily(row.at("family")));
  const Device* device = FindDevice(row.at("device"));
  if (device == nullptr) return absl::InvalidArgumentError("no device");
  const int32_t micro_batch = Whole(row, "micro_batch"), sequence = Whole(row, "sequence");
  return MeasuredStep{
      .row = row.at(""),
      .work = {.shape = CompleteShape({.family = family,
                                       .layers = Whole(row, "layers"),
                                       .heads = Whole(row, "heads"),
                                       .width = Whole(row, "width"),
                                       .positions = sequence,
                                       .vocabulary = Whole(row, "vocabulary"),
                                       .tied_head = family != ModelFamily::kLlama,
                                       .key_value_heads = Whole(row, "key_value_heads"),
                                       .feed_forward_width = Whole(row, "feed_forward_width")}),
               .precision = Precision::kBf16,
               .sequence = sequence,
               .global_batch = micro_batch},
      .layout = {.micro_batch = micro_batch},
      .device = *device,
      .wiring = WiringOf(*device),
      .engine = MusterEngine(),
      .seconds = static_cast<double>(micro_batch) * sequence / Number(row, "tokens_per_second")};
}

}  // namespace

absl::StatusOr<std::vector<MeasuredStep>> SeleneSteps(const std::string& folder) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadRows(folder + "/selene.csv"));
  std::vector<MeasuredStep> steps;
  for (const Row& row : rows) {
    steps.push_back(SeleneStep(row, Recompute::kFull));
    steps.push_back(SeleneStep(row, Recompute::kSelective));
  }
  return steps;
}

absl::StatusOr<std::vector<MeasuredMemory>> SeleneMemory(const std::string& folder) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadRows(folder + "/selene.csv"));
  std::vector<MeasuredMemory> all;
  for (const Row& row : rows) {
    const MeasuredStep step = SeleneStep(row, Recompute::kNone);
    all.push_back(
        {.work = step.work,
         .layout = step.layout,
         .activations_none = Number(row, "activation_gib_none"),
         .activations_selective = Number(row, "activation_gib_selective_sequence_parallel"),
         .state = Number(row, "parameters_and_optimizer_gib")});
  }
  return all;
}

absl::StatusOr<std::vector<MeasuredStep>> VTrainSteps(const std::string& folder, bool multi) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                          ReadRows(folder + (multi ? "/vtrain_multi.csv" : "/vtrain_single.csv")));
  std::vector<MeasuredStep> steps;
  for (const Row& row : rows) steps.push_back(VTrainStep(row));
  return steps;
}

absl::StatusOr<std::vector<MeasuredStep>> MusterSteps(const std::string& folder) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadRows(folder + "/muster.csv"));
  std::vector<MeasuredStep> steps;
  for (const Row& row : rows) {
    MUSTER_ASSIGN_OR_RETURN(MeasuredStep step, MusterStep(row));
    steps.push_back(std::move(step));
  }
  return steps;
}

Score ScoreOf(const std::vector<MeasuredStep>& steps) {
  Score score;
  double sum = 0;
  for (const MeasuredStep& step : steps) {
    const double predicted =
        EstimateStep(step.work, step.layout, step.device, step.wiring, step.engine).Total();
    const double error = 100 * std::abs(predicted / step.seconds - 1);
    sum += error;
    if (!(error <= score.worst)) {
      score.worst = error;
      score.worst_row = step.row;
    }
  }
  score.mean = sum / static_cast<double>(steps.size());
  return score;
}

}  // namespace muster::planner
