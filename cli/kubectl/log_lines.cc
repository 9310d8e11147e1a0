#include "cli/kubectl/log_lines.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::cli::kubectl {
namespace {

// A line of this length is passed on in pieces.
constexpr size_t kMaxLine = size_t{1} << 20;

}  // namespace

std::string LogLines::Pass(std::string_view line) {
  const size_t space = line.find(' ');
  absl::Time time;
  std::string error;
  const bool timed =
      space != std::string_view::npos &&
      absl::ParseTime(absl::RFC3339_full, std::string(line.substr(0, space)), &time, &error);
  if (timed) {
    if (time <= last_) return "";
    last_ = time;
    line.remove_prefix(space + 1);
  }
  const std::string text(line);
  if (rank_ && !absl::StartsWith(text, absl::StrCat("[rank ", *rank_, "] "))) return "";
  return text + "\n";
}

std::string LogLines::Feed(std::string_view bytes) {
  unfinished_.append(bytes);
  std::string lines;
  size_t begin = 0;
  for (size_t end; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines += Pass(std::string_view(unfinished_).substr(begin, end - begin));
  }
  unfinished_.erase(0, begin);
  if (unfinished_.size() > kMaxLine) lines += Pass(std::exchange(unfinished_, ""));
  return lines;
}

std::string LogLines::End(bool whole) {
  const std::string rest = std::exchange(unfinished_, "");
  return whole && !rest.empty() ? Pass(rest) : "";
}

std::string LogLines::since() const {
  if (last_ == absl::InfinitePast()) return "";
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", last_, absl::UTCTimeZone());
}

}  // namespace muster::cli::kubectl
