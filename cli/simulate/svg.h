#ifndef MUSTER_CLI_SIMULATE_SVG_H_
#define MUSTER_CLI_SIMULATE_SVG_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// Elements shared by the simulator's pictures. Pure.
namespace muster::cli {

// The number of queues with a colour of their own; the others share one more.
inline constexpr size_t kSvgColours = 9;
const char* SvgColour(size_t queue);

// Begins a file, with a title at `left`.
std::string SvgHead(double width, double height, double left, absl::string_view title);
std::string SvgLabel(double x, double y, const char* anchor, const std::string& text);
// Draws a time axis from 0 to `seconds` between `left` and `right`, below `y`.
std::string SvgTimeAxis(double seconds, double left, double right, double y);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SVG_H_
