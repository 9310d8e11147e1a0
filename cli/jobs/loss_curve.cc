#include "cli/jobs/loss_curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/xml_text.h"
#include "cli/simulate/axis_step.h"

namespace muster::cli {
namespace {

struct Range {
  double low = 0;
  double high = 1;
  double Share(double value) const { return (value - low) / (high - low); }
};

std::vector<LossPoint> Finite(std::vector<LossPoint> points) {
  std::erase_if(points, [](const LossPoint& p) { return !std::isfinite(p.loss); });
  std::stable_sort(points.begin(), points.end(),
                   [](const LossPoint& a, const LossPoint& b) { return a.step < b.step; });
  return points;
}

Range LossRange(const std::vector<LossPoint>& points, std::optional<double> floor) {
  Range range{points[0].loss, points[0].loss};
  const auto widen = [&](double value) {
    if (!std::isfinite(value)) return;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  };
  for (const LossPoint& p : points) {
    widen(p.loss);
    if (p.validation_loss) widen(*p.validation_loss);
  }
  if (floor) widen(*floor);
  const double margin = std::max((range.high - range.low) * 0.05, 1e-9);
  return {range.low - margin, range.high + margin};
}

constexpr double kWidth = 860, kHeight = 420, kLeft = 76, kRight = 24, kTop = 44, kBottom = 48;

// Fits lines through runs of neighbouring points, by index, in constant time each.
class LineSums {
 public:
  explicit LineSums(const std::vector<LossPoint>& points)
      : loss_(points.size() + 1, 0), moment_(points.size() + 1, 0) {
    for (size_t i = 0; i < points.size(); ++i) {
      loss_[i + 1] = loss_[i] + points[i].loss;
      moment_[i + 1] = moment_[i] + static_cast<double>(i) * points[i].loss;
    }
  }

  // Returns the value at index `i` of the least-squares line through points [first, first + width).
  double At(size_t i, size_t first, size_t width) const {
    const double n = static_cast<double>(width);
    const double sum = loss_[first + width] - loss_[first];
    if (width < 3) return sum / n;
    const double center = static_cast<double>(first) + (n - 1) / 2;
    const double slope =
        (moment_[first + width] - moment_[first] - center * sum) / (n * (n * n - 1) / 12);
    return sum / n + slope * (static_cast<double>(i) - center);
  }

 private:
  std::vector<double> loss_;
  std::vector<double> moment_;
};

class SvgCurve {
 public:
  SvgCurve(const std::vector<LossPoint>& points, Range loss)
      : points_(points),
        loss_(loss),
        steps_{static_cast<double>(points.front().step),
               std::max(static_cast<double>(points.back().step), points.front().step + 1.0)} {}

  double X(double step) const { return kLeft + steps_.Share(step) * (kWidth - kLeft - kRight); }
  double Y(double loss) const {
    return kHeight - kBottom - loss_.Share(loss) * (kHeight - kTop - kBottom);
  }

  std::string Axes() const {
    std::string out;
    const double dy = AxisStep(loss_.high - loss_.low, 6);
    // Multiplies whole numbers of steps, which yields no minus zero and accumulates no rounding.
    for (auto i = static_cast<int64_t>(std::ceil(loss_.low / dy)); i * dy <= loss_.high; ++i) {
      const double v = i * dy;
      absl::StrAppendFormat(&out,
                            "<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' stroke='#e4e4e0'/>"
                            "<text x='%g' y='%.1f' text-anchor='end'>%.4g</text>\n",
                            kLeft, kWidth - kRight, Y(v), Y(v), kLeft - 8, Y(v) + 4, v);
    }
    const double dx = std::max(1.0, AxisStep(steps_.high - steps_.low, 8));
    for (double v = std::ceil(steps_.low / dx) * dx; v <= steps_.high; v += dx) {
      absl::StrAppendFormat(&out, "<text x='%.1f' y='%g' text-anchor='middle'>%.0f</text>\n", X(v),
                            kHeight - kBottom + 20, v);
    }
    absl::StrAppendFormat(&out, "<text x='%g' y='%g' text-anchor='middle'>step</text>\n",
                          (kLeft + kWidth - kRight) / 2, kHeight - 10);
    absl::StrAppendFormat(
        &out,
        "<text transform='translate(16 %g) rotate(-90)' text-anchor='middle'>loss "
        "(nats per token)</text>\n",
        (kTop + kHeight - kBottom) / 2);
    return out;
  }

  // Draws each point at its value on the least-squares line through its neighbours, `half_window`
  // on either side. At the ends the window keeps its width: a shrinking window would end on the
  // last raw loss, and a one-sided mean would lag behind a falling loss.
  std::string Training(size_t half_window) const {
    const LineSums sums(points_);
    const size_t width = std::min(2 * half_window + 1, points_.size());
    std::string path;
    const size_t stride = std::max<size_t>(1, points_.size() / static_cast<size_t>(2 * kWidth));
    for (size_t i = 0; i < points_.size(); ++i) {
      // Draws at most two points per pixel column, so that a long run makes a small file.
      if (i % stride != 0 && i + 1 != points_.size()) continue;
      const size_t first = std::min(i - std::min(half_window, i), points_.size() - width);
      absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "M" : "L", X(points_[i].step),
                            Y(sums.At(i, first, width)));
    }
    return path;
  }

  std::string Validation() const {
    std::string path;
    for (const LossPoint& p : points_) {
      if (!p.validation_loss || !std::isfinite(*p.validation_loss)) continue;
      absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "M" : "L", X(p.step),
                            Y(*p.validation_loss));
    }
    return path;
  }

 private:
  const std::vector<LossPoint>& points_;
  Range loss_;
  Range steps_;
};

std::string Legend(bool validation, std::optional<double> floor, absl::string_view floor_name) {
  std::string out =
      absl::StrFormat("<text x='%g' y='26' text-anchor='end' fill='#1f6feb'>training loss</text>\n",
                      kWidth - kRight);
  if (validation) {
    absl::StrAppendFormat(
        &out, "<text x='%g' y='26' text-anchor='end' fill='#c2410c'>validation loss</text>\n",
        kWidth - kRight - 110);
  }
  if (floor) {
    absl::StrAppendFormat(&out,
                          "<text x='%g' y='26' text-anchor='end' fill='#6b7280'>%s %.3f</text>\n",
                          kWidth - kRight - 230, EscapeXml(floor_name), *floor);
  }
  return out;
}

}  // namespace

std::string LossCurveSvg(std::vector<LossPoint> points, absl::string_view title,
                         std::optional<double> floor, absl::string_view floor_name) {
  points = Finite(std::move(points));
  std::string out = absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' height='%g' "
      "font-family='sans-serif' font-size='12' fill='#374151'>\n"
      "<rect width='100%%' height='100%%' fill='white'/>\n"
      "<text x='%g' y='26' font-size='15' font-weight='bold'>%s</text>\n",
      kWidth, kHeight, kWidth, kHeight, kLeft, EscapeXml(title));
  if (points.empty()) {
    absl::StrAppend(&out, "<text x='76' y='80'>no steps yet</text>\n</svg>\n");
    return out;
  }
  const SvgCurve curve(points, LossRange(points, floor));
  const std::string validation = curve.Validation();
  absl::StrAppend(&out, curve.Axes(), Legend(!validation.empty(), floor, floor_name));
  if (floor) {
    absl::StrAppendFormat(
        &out,
        "<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' stroke='#6b7280' stroke-dasharray='6 4'/>\n",
        kLeft, kWidth - kRight, curve.Y(*floor), curve.Y(*floor));
  }
  absl::StrAppend(&out, "<path d='", curve.Training(0),
                  "' fill='none' stroke='#1f6feb' stroke-opacity='0.3'/>\n<path d='",
                  curve.Training(points.size() / 60 + 1),
                  "' fill='none' stroke='#1f6feb' stroke-width='2'/>\n");
  if (!validation.empty()) {
    absl::StrAppend(&out, "<path d='", validation,
                    "' fill='none' stroke='#c2410c' stroke-width='2'/>\n");
  }
  absl::StrAppend(&out, "</svg>\n");
  return out;
}

namespace {

// One braille character shows 2 x 4 dots; kDot[x][y] is a dot's bit in U+2800.
constexpr std::array<std::array<int, 4>, 2> kDot = {
    {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

void AppendBraille(std::string& out, int bits) {
  const int code = 0x2800 + bits;
  out += static_cast<char>(0xE0 | (code >> 12));
  out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
  out += static_cast<char>(0x80 | (code & 0x3F));
}

// Returns the mean loss of the points in each dot column; NaN for a column without points.
std::vector<double> ColumnMeans(const std::vector<LossPoint>& points, int columns) {
  std::vector<double> sum(columns, 0), count(columns, 0);
  const double first = points.front().step, last = std::max(points.back().step + 0.0, first + 1);
  for (const LossPoint& p : points) {
    const int x =
        std::min(columns - 1, static_cast<int>((p.step - first) / (last - first) * columns));
    sum[x] += p.loss;
    count[x] += 1;
  }
  for (int x = 0; x < columns; ++x) sum[x] = count[x] > 0 ? sum[x] / count[x] : std::nan("");
  return sum;
}

}  // namespace

std::string LossCurveBraille(std::vector<LossPoint> points, int columns, int rows) {
  points = Finite(std::move(points));
  if (points.size() < 2 || columns < 1 || rows < 1) return "";
  const std::vector<double> means = ColumnMeans(points, columns * 2);
  const Range range = LossRange(points, std::nullopt);
  std::vector<std::vector<int>> cells(rows, std::vector<int>(columns, 0));
  const int dots = rows * 4;
  int previous = -1;
  for (int x = 0; x < columns * 2; ++x) {
    if (std::isnan(means[x])) continue;
    const int y = std::clamp(static_cast<int>((1 - range.Share(means[x])) * dots), 0, dots - 1);
    const int from = previous < 0 ? y : std::min(previous, y), to = std::max(previous, y);
    for (int dot = from; dot <= to; ++dot) cells[dot / 4][x / 2] |= kDot[x % 2][dot % 4];
    previous = y;
  }
  std::string out;
  for (int row = 0; row < rows; ++row) {
    const double loss = range.high - (range.high - range.low) * (row + 0.5) / rows;
    absl::StrAppendFormat(&out, "%9.4f ", loss);
    for (const int bits : cells[row]) AppendBraille(out, bits);
    out += '\n';
  }
  const std::string first = absl::StrCat("step ", points.front().step);
  const std::string last = absl::StrCat(points.back().step);
  const int gap = std::max<int>(1, columns - static_cast<int>(first.size() + last.size()));
  absl::StrAppend(&out, std::string(10, ' '), first, std::string(gap, ' '), last, "\n");
  return out;
}

}  // namespace muster::cli
