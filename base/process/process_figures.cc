#include "base/process/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace muster {
namespace {

int64_t CountOpenFds() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int64_t entries = 0;
  while (::readdir(folder) != nullptr) ++entries;
  ::closedir(folder);
  return entries - 3;  // ".", ".." and the folder itself
}

// Returns seconds since the epoch; 0 if unknown.
double BootTime() {
  std::ifstream stat("/proc/stat");
  std::string word;
  while (stat >> word) {
    double value = 0;
    if (word == "btime" && stat >> value) return value;
  }
  return 0;
}

}  // namespace

absl::StatusOr<ProcessStatLine> ParseProcessStat(const std::string& line) {
  const size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) {
    return absl::InvalidArgumentError("a /proc/PID/stat line has its command in brackets");
  }
  std::istringstream rest(line.substr(bracket + 1));
  ProcessStatLine stat;
  std::string skipped;
  for (int field = 3; field <= 13; ++field) rest >> skipped;  // state ... cmajflt, as in proc(5)
  int64_t user = 0;
  int64_t system = 0;
  rest >> user >> system;
  for (int field = 16; field <= 19; ++field) rest >> skipped;
  rest >> stat.threads >> skipped >> stat.start_ticks >> stat.virtual_bytes >> stat.resident_pages;
  if (!rest) return absl::InvalidArgumentError("a /proc/PID/stat line has at least 24 fields");
  stat.cpu_ticks = user + system;
  return stat;
}

ProcessFigures ReadProcessFigures() {
  ProcessFigures figures;
  figures.open_fds = CountOpenFds();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    figures.max_fds = static_cast<int64_t>(limit.rlim_cur);
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const absl::StatusOr<ProcessStatLine> stat = ParseProcessStat(line);
  if (!stat.ok()) return figures;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double boot = BootTime();  // shifts when the wall clock is set; kept as first read
  figures.cpu_seconds = static_cast<double>(stat->cpu_ticks) / ticks;
  figures.start_time = boot + static_cast<double>(stat->start_ticks) / ticks;
  figures.virtual_bytes = stat->virtual_bytes;
  figures.resident_bytes = stat->resident_pages * ::sysconf(_SC_PAGESIZE);
  figures.threads = stat->threads;
  return figures;
}

}  // namespace muster
