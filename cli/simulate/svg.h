#ifndef MUSTER_CLI_SIMULATE_SVG_H_
#define MUSTER_CLI_SIMULATE_SVG_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// What the simulator's pictures have in common. Pure.
namespace muster::cli {

// Queues with a colour of their own; the others share the last.
inline constexpr size_t kSvgColours = 9;
const char* SvgColour(size_t queue);

// The beginning of a file, with a title at `left`.
std::string SvgHead(double width, double height, double left, absl::string_view title);
std::string SvgLabel(double x, double y, const char* anchor, const std::string& text);
// A step of 1, 2 or 5 times a power of ten that cuts the range into about `count` parts.
double SvgStep(double width, int count);
// The times from 0 to `seconds` between two places, below `y`.
std::string SvgTimeAxis(double seconds, double left, double right, double y);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SVG_H_
