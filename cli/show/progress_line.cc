#include "cli/show/progress_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/show/text_table.h"

namespace muster::cli {
namespace {

// A narrower terminal has no room for the bar beside the figures.
constexpr int kColumnsWithBar = 60;

std::optional<double> SecondsLeft(const ProgressView& view) {
  if (view.steps_per_second <= 0 || view.steps <= view.step) return std::nullopt;
  return static_cast<double>(view.steps - view.step) / view.steps_per_second;
}

std::string Bar(const ProgressView& view) {
  constexpr int kCells = 20;
  const double share = view.steps > 0 ? static_cast<double>(view.step) / view.steps : 0;
  const int full = std::clamp(static_cast<int>(share * kCells), 0, kCells);
  return absl::StrCat("[", std::string(full, '#'), std::string(kCells - full, '-'), "]");
}

}  // namespace

std::string Short(double value) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.3g%s", value, kUnits[unit]);
}

std::string ShortBytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || bytes >= 100 ? 0 : 1;
  return absl::StrFormat("%.*f %s", decimals, bytes, kUnits[unit]);
}

std::string ShortDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 9.95) return absl::StrFormat("%.1fs", seconds);
  const int64_t s = std::llround(seconds);
  if (s < 60) return absl::StrFormat("%ds", s);
  if (s < 3600) return absl::StrFormat("%dm%02ds", s / 60, s % 60);
  return absl::StrFormat("%dh%02dm", s / 3600, s / 60 % 60);
}

std::string TerminalLine(const ProgressView& view, int columns) {
  std::string line = absl::StrCat(view.step, "/", view.steps);
  if (columns <= 0 || columns >= kColumnsWithBar) line = absl::StrCat(Bar(view), " ", line);
  if (view.state != "Training") absl::StrAppend(&line, "  ", view.state);
  const std::string& why = view.why.empty() ? view.reason : view.why;
  if (view.state != "Training" && !why.empty()) absl::StrAppend(&line, " (", why, ")");
  if (view.loss) absl::StrAppendFormat(&line, "  loss %.4f", *view.loss);
  if (view.validation_loss) absl::StrAppendFormat(&line, "  val %.4f", *view.validation_loss);
  if (view.tokens_per_second > 0) {
    absl::StrAppend(&line, "  ", Short(view.tokens_per_second), " tok/s");
  }
  if (const auto left = SecondsLeft(view)) absl::StrAppend(&line, "  ETA ", ShortDuration(*left));
  line = Printable(std::move(line));
  return columns > 0 ? CutToWidth(std::move(line), static_cast<size_t>(columns)) : line;
}

std::string PlainLine(const ProgressView& view) {
  std::string line = absl::StrCat("step=", view.step, "/", view.steps, " state=", view.state);
  if (!view.why.empty()) {
    absl::StrAppend(&line, " why=\"", view.why, "\"");
  } else if (!view.reason.empty()) {
    absl::StrAppend(&line, " reason=", view.reason);
  }
  if (view.loss) absl::StrAppendFormat(&line, " loss=%.4f", *view.loss);
  if (view.validation_loss) absl::StrAppendFormat(&line, " val=%.4f", *view.validation_loss);
  if (view.tokens_per_second > 0) {
    absl::StrAppend(&line, " tokens/s=", Short(view.tokens_per_second));
  }
  if (const auto left = SecondsLeft(view)) absl::StrAppend(&line, " eta=", ShortDuration(*left));
  absl::StrAppend(&line, " workers=", view.ready, "/", view.desired, " round=", view.round);
  return Printable(std::move(line));
}

}  // namespace muster::cli
