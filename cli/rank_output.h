#ifndef MUSTER_CLI_RANK_OUTPUT_H_
#define MUSTER_CLI_RANK_OUTPUT_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/files.h"

namespace muster::cli {

// Reads what the ranks of a local job print, line by line, each with its "[rank N] ", from their
// agents' logs, where an agent shows them among lines of its own. Not thread-safe.
class RankOutput {
 public:
  // `pods` holds a folder for each pod. Lines that are in their logs now were printed before, and
  // are passed over.
  RankOutput(Files& files, std::string pods);

  // The whole lines that were added since the last call. A log that cannot be read now is read the
  // next time.
  std::string TakeLines();

 private:
  struct Log {
    uint64_t offset = 0;
    std::string unfinished;  // the end of it that lacks its newline
  };
  // Calls visit(path, size) for each agent's log.
  template <typename Visit>
  void ForEachLog(Visit visit);
  void Read(const std::string& path, uint64_t size, Log& log, std::string& lines);

  Files& files_;
  const std::string pods_;
  std::map<std::string, Log> logs_;  // by path
};

// The lines among them, as TakeLines() gives them, that a trainer logged as a warning. Pure.
std::string WarningsAmong(const std::string& lines);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RANK_OUTPUT_H_
