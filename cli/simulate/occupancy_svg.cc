#include "cli/simulate/occupancy_svg.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/simulate/axis_step.h"
#include "cli/simulate/sim_cluster.h"
#include "cli/simulate/svg.h"

namespace muster::cli {
namespace {

constexpr double kWidth = 900, kLeft = 64, kRight = 180, kTop = 48;
constexpr double kUse = 300, kGap = 28, kWaiting = 80, kBottom = 44;
constexpr double kHeight = kTop + kUse + kGap + kWaiting + kBottom;
// The number of columns into which time is divided; each shows a mean.
constexpr int kColumns = 656;

// The means over each column of time: of each band, and of the waiting jobs.
struct Columns {
  std::vector<std::vector<double>> bands;
  std::vector<double> waiting;
};

Columns MakeColumns(const SimReport& report, size_t bands) {
  Columns columns{std::vector<std::vector<double>>(bands, std::vector<double>(kColumns)),
                  std::vector<double>(kColumns)};
  const double width = report.makespan / kColumns;
  for (size_t i = 0; i < report.occupancy.size(); ++i) {
    const OccupancyPoint& point = report.occupancy[i];
    const double end =
        i + 1 < report.occupancy.size() ? report.occupancy[i + 1].at : report.makespan;
    double at = point.at;
    for (int c = static_cast<int>(at / width); c < kColumns && at < end; ++c) {
      const double until = std::min(end, (c + 1) * width);
      const double part = std::max(0.0, until - at) / width;
      for (size_t q = 0; q < point.used.size(); ++q) {
        columns.bands[std::min(q, bands - 1)][c] += part * static_cast<double>(point.used[q]);
      }
      columns.waiting[c] += part * static_cast<double>(point.waiting);
      at = until;
    }
  }
  return columns;
}

double X(int column) {
  return kLeft + (kWidth - kLeft - kRight) * column / static_cast<double>(kColumns);
}

// Draws the area between two stepped lines over the columns.
std::string Area(const std::vector<double>& low, const std::vector<double>& high, double zero,
                 double scale, const char* colour) {
  std::string path = absl::StrFormat("<path fill='%s' d='M%.1f,%.1f", colour, X(0), zero);
  for (int c = 0; c < kColumns; ++c) {
    absl::StrAppendFormat(&path, "L%.1f,%.1fH%.1f", X(c), zero - high[c] * scale, X(c + 1));
  }
  for (int c = kColumns - 1; c >= 0; --c) {
    absl::StrAppendFormat(&path, "L%.1f,%.1fH%.1f", X(c + 1), zero - low[c] * scale, X(c));
  }
  return absl::StrCat(path, "Z'/>\n");
}

std::string Line(double y, const char* style) {
  return absl::StrFormat("<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' %s/>\n", kLeft, kWidth - kRight,
                         y, y, style);
}

std::string Legend(const SimReport& report, size_t bands) {
  std::string out;
  double y = kTop + 12;
  for (size_t q = 0; q < bands; ++q, y += 20) {
    const bool rest = q == kSvgColours;
    out += absl::StrFormat("<rect x='%g' y='%.1f' width='12' height='12' fill='%s'/>",
                           kWidth - kRight + 16, y - 10, SvgColour(q));
    out += SvgLabel(
        kWidth - kRight + 34, y, "start",
        rest ? absl::StrCat(report.queues.size() - kSvgColours, " others") : report.queues[q]);
  }
  return out;
}

}  // namespace

std::string OccupancySvg(const SimReport& report, absl::string_view title) {
  std::string out = SvgHead(kWidth, kHeight, kLeft, title);
  if (report.makespan <= 0 || report.capacity <= 0) return out + "</svg>\n";
  const size_t bands = std::min(report.queues.size(), kSvgColours + 1);
  const Columns columns = MakeColumns(report, bands);
  const double zero = kTop + kUse;
  const double unit = report.resource == kCpuResource ? 1000 : 1;
  const double capacity = static_cast<double>(report.capacity);
  // A cluster that is hardly used is scaled to its highest usage.
  std::vector<double> total(kColumns);
  for (const auto& band : columns.bands) {
    for (int c = 0; c < kColumns; ++c) total[c] += band[c];
  }
  const double peak = *std::max_element(total.begin(), total.end());
  const double top = std::max(std::min(capacity, peak * 1.1), 1.0);
  const double step = AxisStep(top / unit, 5);
  for (double v = 0; v <= top / unit * 1.0001; v += step) {
    const double y = zero - v * unit / top * kUse;
    out += Line(y, "stroke='#e4e4e0'");
    out += SvgLabel(kLeft - 8, y + 4, "end", absl::StrFormat("%.6g", v));
  }
  std::vector<double> low(kColumns);
  for (size_t q = 0; q < bands; ++q) {
    std::vector<double> high = low;
    for (int c = 0; c < kColumns; ++c) high[c] += columns.bands[q][c];
    out += Area(low, high, zero, kUse / top, SvgColour(q));
    low = high;
  }
  if (capacity <= top) out += Line(zero - kUse, "stroke='#40403c' stroke-dasharray='5 4'");
  out +=
      SvgLabel(kLeft, kTop - 6, "start",
               absl::StrFormat("%s in use, by queue; the cluster has %.6g",
                               report.resource == kCpuResource ? "CPUs" : "GPUs", capacity / unit));
  const double floor = kTop + kUse + kGap + kWaiting;
  const double most =
      std::max(1.0, *std::max_element(columns.waiting.begin(), columns.waiting.end()));
  out += Area(std::vector<double>(kColumns), columns.waiting, floor, kWaiting / most, "#8a8a84");
  out += Line(floor, "stroke='#c8c8c2'");
  out += SvgLabel(kLeft - 8, floor - kWaiting + 8, "end", absl::StrFormat("%.0f", most));
  out += SvgLabel(kLeft - 8, floor, "end", "0");
  out += SvgLabel(kLeft, floor - kWaiting - 6, "start", "jobs waiting");
  out += Legend(report, bands) +
         SvgTimeAxis(report.makespan, kLeft, kWidth - kRight, kHeight - kBottom);
  return out + "</svg>\n";
}

}  // namespace muster::cli
