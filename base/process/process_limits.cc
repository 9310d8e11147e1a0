#include "base/process/process_limits.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

int64_t LimitOf(rlim_t limit) {
  return limit == RLIM_INFINITY ? kNoLimit : static_cast<int64_t>(limit);
}

// Returns the number of threads of this user. The kernel counts them against RLIMIT_NPROC.
int64_t ThreadsOfThisUser() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  int64_t threads = 0;
  while (const dirent* entry = readdir(processes)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    struct stat tasks = {};
    const std::string path = absl::StrCat("/proc/", entry->d_name, "/task");
    if (stat(path.c_str(), &tasks) != 0 || tasks.st_uid != getuid()) continue;
    threads += static_cast<int64_t>(tasks.st_nlink) - 2;  // without "." and ".."
  }
  closedir(processes);
  return threads;
}

}  // namespace

int64_t RaiseOpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return LimitOf(limit.rlim_cur);
}

int64_t ProcessesLeft() {
  rlimit limit = {};
  if (getuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0) return kNoLimit;
  if (limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return std::max<int64_t>(0, LimitOf(limit.rlim_cur) - ThreadsOfThisUser());
}

absl::Status CheckProcessRoom(const ProcessRoom& room, const ProcessRoom& needed) {
  if (room.open_files < needed.open_files) {
    return absl::FailedPreconditionError(
        absl::StrCat("at most ", room.open_files, " open files are allowed (ulimit -n), and ",
                     needed.open_files, " are needed: raise the limit, as with: ulimit -n 1024"));
  }
  if (room.processes < needed.processes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this user may start ", room.processes, " more processes and threads (ulimit -u), and ",
        needed.processes, " are needed: raise the limit, or end other programs"));
  }
  return absl::OkStatus();
}

}  // namespace muster
