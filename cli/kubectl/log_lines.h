#ifndef MUSTER_CLI_KUBECTL_LOG_LINES_H_
#define MUSTER_CLI_KUBECTL_LOG_LINES_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace muster::cli::kubectl {

// The lines of one worker's log, from bytes in any pieces. Each line of the stream begins with its
// time, by which a stream that was broken is continued without a line twice. Not thread-safe.
class LogLines {
 public:
  // With `rank`, only the lines of that rank ("[rank 3] ...") pass; the agent's own do not.
  explicit LogLines(std::optional<int> rank) : rank_(rank) {}

  // Returns the lines that are whole now, without their times.
  std::string Feed(std::string_view bytes);
  // The stream ended or broke: returns a last line without its end, if it is sure to be whole.
  std::string End(bool whole);

  // The second from which the next stream must begin, as RFC 3339; empty before the first line.
  std::string since() const;

 private:
  std::string Pass(std::string_view line);

  const std::optional<int> rank_;
  std::string unfinished_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace muster::cli::kubectl

#endif  // MUSTER_CLI_KUBECTL_LOG_LINES_H_
