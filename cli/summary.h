#ifndef MUSTER_CLI_SUMMARY_H_
#define MUSTER_CLI_SUMMARY_H_

#include <optional>
#include <string>

#include "cli/history.h"

namespace muster::cli {

// What is known of a run besides its steps. Empty strings and unset values are left out.
struct RunFacts {
  std::string job;
  std::string state;
  std::string message;
  int64_t steps = 0;
  double wall_seconds = 0;
  int rounds = 0;
  std::string checkpoint;
  std::string curve;
};

// The table printed at the end of a run. Pure.
std::string SummaryTable(const RunFacts& facts, const History& history);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SUMMARY_H_
