#include "cli/simulate/svg.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/xml_text.h"
#include "cli/simulate/axis_step.h"

namespace muster::cli {
namespace {

constexpr const char* kPalette[kSvgColours + 1] = {"#2f6fb3", "#e0823d", "#3f9a6b", "#b5476b",
                                                   "#7a63b8", "#c2a633", "#3aa3b0", "#8c6d54",
                                                   "#d06ab0", "#a8a8a2"};

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit UnitFor(double seconds) {
  if (seconds > 4 * 86'400) return {"days", 86'400};
  if (seconds > 4 * 3'600) return {"hours", 3'600};
  if (seconds > 4 * 60) return {"minutes", 60};
  return {"seconds", 1};
}

}  // namespace

const char* SvgColour(size_t queue) { return kPalette[std::min(queue, kSvgColours)]; }

std::string SvgHead(double width, double height, double left, absl::string_view title) {
  return absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' viewBox='0 0 %g %g' "
      "font-family='sans-serif' font-size='12' fill='#40403c'>\n"
      "<rect width='100%%' height='100%%' fill='#fdfdfb'/>\n"
      "<text x='%g' y='26' font-size='15'>%s</text>\n",
      width, height, width, height, left, EscapeXml(title));
}

std::string SvgLabel(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor,
                         EscapeXml(text));
}

std::string SvgTimeAxis(double seconds, double left, double right, double y) {
  const TimeUnit unit = UnitFor(seconds);
  std::string out;
  const double all = seconds / unit.seconds;
  const double step = AxisStep(all, 8);
  for (double v = 0; v <= all * 1.0001; v += step) {
    out += SvgLabel(left + (right - left) * v / all, y + 18, "middle", absl::StrFormat("%.4g", v));
  }
  return out + SvgLabel((left + right) / 2, y + 36, "middle", unit.name);
}

}  // namespace muster::cli
