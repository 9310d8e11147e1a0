#include "cli/jobs/summary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/show/job_description.h"
#include "cli/show/progress_line.h"

namespace muster::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

// Returns the mean loss of the last hundredth of the steps, without skipped ones, because a single
// step's loss reflects its batch more than the model.
std::string FinalLoss(const History& history) {
  const size_t wanted = std::max<size_t>(1, history.steps().size() / 100);
  double sum = 0.0;
  size_t count = 0;
  for (auto it = history.steps().rbegin(); it != history.steps().rend() && count < wanted; ++it) {
    if (!std::isfinite(it->second.loss())) continue;
    sum += it->second.loss();
    ++count;
  }
  if (count == 0) return "no finite one";
  if (count == 1) return absl::StrFormat("%.4f final", sum);
  return absl::StrFormat("%.4f final (mean of %d steps)", sum / static_cast<double>(count), count);
}

void AddLosses(const History& history, Rows& rows) {
  if (history.steps().empty()) return;
  double best = INFINITY;
  for (const auto& [number, step] : history.steps()) best = std::min(best, step.loss());
  rows.emplace_back("loss", absl::StrFormat("%s, %.4f best", FinalLoss(history), best));
  const std::optional<double> last_validation = history.last_validation_loss();
  if (last_validation) {
    rows.emplace_back("validation loss", absl::StrFormat("%.4f final, %.4f best", *last_validation,
                                                         *history.best_validation_loss()));
  }
  if (const auto entropy = history.unigram_entropy()) {
    std::string text = absl::StrFormat("%.4f (of the validation text)", *entropy);
    if (last_validation) {
      absl::StrAppendFormat(&text, ", the model is %.4f %s", std::abs(*entropy - *last_validation),
                            *last_validation < *entropy ? "below" : "above");
    }
    rows.emplace_back("unigram entropy", text);
  }
}

}  // namespace

double JobSeconds(absl::Time start, absl::Time end, absl::Time opened, absl::Duration watched) {
  const absl::Duration before = std::min(end, opened) - start;
  return absl::ToDoubleSeconds(std::max(before, absl::ZeroDuration()) + watched);
}

std::string SummaryTable(const RunFacts& facts, const History& history) {
  Rows rows;
  rows.emplace_back("job", absl::StrCat(facts.job, ": ", facts.state));
  rows.emplace_back("steps", absl::StrCat(history.last_step(), " of ", facts.steps));
  AddLosses(history, rows);
  if (history.tokens_per_second() > 0) {
    rows.emplace_back("tokens per second", Short(history.tokens_per_second()));
  }
  if (facts.wall_seconds > 0) rows.emplace_back("wall time", ShortDuration(facts.wall_seconds));
  if (facts.rounds > 1) rows.emplace_back("rounds", absl::StrCat(facts.rounds));
  if (!facts.checkpoint.empty()) rows.emplace_back("checkpoint", facts.checkpoint);
  if (!facts.curve.empty()) rows.emplace_back("loss curve", facts.curve);
  std::string out;
  for (const auto& [name, value] : rows) absl::StrAppendFormat(&out, "%-18s %s\n", name, value);
  const std::string times = LedgerTable(facts.ledger);
  if (!times.empty()) absl::StrAppend(&out, "\ntime of the ranks:\n", times);
  return out;
}

}  // namespace muster::cli
