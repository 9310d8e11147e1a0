#ifndef MUSTER_CLI_JOBS_RANK_OUTPUT_H_
#define MUSTER_CLI_JOBS_RANK_OUTPUT_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/files/files.h"

namespace muster::cli {

// Reads the output of a local job's ranks, line by line, each with its "[rank N] ", from the
// agents' logs, where it stands among the agents' own lines. Not thread-safe.
class RankOutput {
 public:
  // `pods` holds a folder for each pod. Lines that are already in the logs are skipped, because
  // they were printed before.
  RankOutput(Files& files, std::string pods);

  // Returns the whole lines added since the last call. A log that cannot be read now is read by the
  // next call.
  std::string TakeLines();

 private:
  struct Log {
    uint64_t offset = 0;
    std::string unfinished;  // an incomplete last line
  };
  // Calls visit(path, size) for each agent's log.
  template <typename Visit>
  void ForEachLog(Visit visit);
  void Read(const std::string& path, uint64_t size, Log& log, std::string& lines);

  Files& files_;
  const std::string pods_;
  std::map<std::string, Log> logs_;  // by path
};

// Returns those of `lines`, as TakeLines() returns them, that a trainer logged as a warning. Pure.
std::string WarningsAmong(const std::string& lines);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_RANK_OUTPUT_H_
