// `kubectl muster top`: the jobs that train. On a terminal the table is drawn again every two
// seconds, until Ctrl-C; elsewhere it is printed once.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "cli/show/job_table.h"

namespace muster::cli::kubectl {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(2);
constexpr char kFromTheTop[] = "\033[H\033[J";

absl::Status Top(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, TopFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  const bool redraws = isatty(STDOUT_FILENO) != 0 && !flags.Has("once");
  while (true) {
    const auto jobs = ListJobs(cluster);
    const bool away = absl::IsUnavailable(jobs.status()) || absl::IsDeadlineExceeded(jobs.status());
    if (!jobs.ok() && !(away && redraws)) return jobs.status();
    const std::string text = jobs.ok() ? TopTable(*jobs, flags.Has("all-namespaces"))
                                       : std::string(jobs.status().message()) + "\n";
    std::printf("%s%s", redraws ? kFromTheTop : "", text.c_str());
    std::fflush(stdout);
    if (!redraws) return absl::OkStatus();
    absl::SleepFor(kBetweenLooks);
  }
}

}  // namespace

std::vector<FlagSpec> TopFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back(AllNamespacesFlag());
  flags.push_back({"once", "print the table once, also on a terminal", /*is_switch=*/true});
  return flags;
}

int TopMain(const std::vector<std::string>& arguments) {
  const absl::Status status = Top(arguments);
  return status.ok() ? +kExitOk : Fail(status);
}

}  // namespace muster::cli::kubectl
