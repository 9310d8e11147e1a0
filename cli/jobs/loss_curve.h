#ifndef MUSTER_CLI_JOBS_LOSS_CURVE_H_
#define MUSTER_CLI_JOBS_LOSS_CURVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

namespace muster::cli {

struct LossPoint {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> validation_loss;
};

// Draws a loss curve as a standalone SVG file: training loss (thin, with a smoothed line over it),
// validation loss, and if given `floor`, a dashed line such as the unigram entropy, labelled
// `floor_name`. Points need not be sorted; non-finite ones are left out. Pure.
std::string LossCurveSvg(std::vector<LossPoint> points, absl::string_view title,
                         std::optional<double> floor = std::nullopt,
                         absl::string_view floor_name = "");

// Draws the training loss as `rows` lines of `columns` braille characters, with the loss at the
// left and steps below, for a terminal. Empty for fewer than two finite points. Pure.
std::string LossCurveBraille(std::vector<LossPoint> points, int columns, int rows);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_LOSS_CURVE_H_
