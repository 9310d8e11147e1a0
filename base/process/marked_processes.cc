#include "base/process/marked_processes.h"

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/process/pidfd.h"
#include "base/process/process_mark.h"
#include "base/process/process_stat.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

// A process, by its pid and start time.
using Identity = std::pair<pid_t, uint64_t>;

// The result of one scan over all processes.
struct Pass {
  std::vector<UniqueFd> signalled;  // had the mark and were running
  std::set<Identity> zombies;       // had the mark, and have ended but not been reaped
  // True if a process ended during this scan, or since the previous one, that had the mark or could
  // not be read in time. It may have started another.
  bool missed = false;
};

std::optional<Identity> IdentityOf(pid_t pid) {
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(pid);
  return stat.ok() ? std::optional<Identity>({pid, stat->start_time}) : std::nullopt;
}

// Records in `pass` a process that ended before it could be signalled. One that was a zombie in the
// previous pass has started nothing since.
void RecordEnded(pid_t pid, bool marked, const std::set<Identity>& zombies_before, Pass& pass) {
  const std::optional<Identity> zombie = marked ? IdentityOf(pid) : std::nullopt;
  if (zombie.has_value()) {
    pass.missed |= zombies_before.count(*zombie) == 0;
    pass.zombies.insert(*zombie);
    return;
  }
  // A zombie without the mark still exists.
  pass.missed |= marked || kill(pid, 0) != 0;
}

Pass SignalAll(const std::string& mark, int signal, const std::set<Identity>& zombies_before = {}) {
  Pass pass;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return pass;
  while (const dirent* file = readdir(proc)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(file->d_name, &pid) || pid == getpid()) continue;
    // Opened before the mark is read: the signal goes to the process that was read, or nowhere.
    UniqueFd pidfd(PidfdOpen(pid));
    const bool marked = pidfd.get() >= 0 && HasMark(pid, mark);
    if (pidfd.get() < 0 || HasEnded(pidfd.get())) {
      RecordEnded(pid, marked, zombies_before, pass);
    } else if (marked && PidfdSignal(pidfd.get(), signal) == 0) {
      pass.signalled.push_back(std::move(pidfd));
    }
  }
  closedir(proc);
  return pass;
}

}  // namespace

int SignalMarkedProcesses(const std::string& mark, int signal) {
  return static_cast<int>(SignalAll(mark, signal).signalled.size());
}

absl::Status EndMarkedProcesses(const std::string& mark, absl::Duration patience) {
  const absl::Time deadline = Clock::Real().Monotonic() + patience;
  // Pids are listed and assigned in ascending order, so a child is listed after its parent unless
  // the pids wrapped around in between: hence two passes that find no process. A killed process
  // starts no other. Unrelated processes end all the time on a busy machine, so a pass that only
  // missed something counts a little, too: a chain of processes is caught long before that
  // suffices.
  constexpr int kEnough = 2 * 500;
  Pass pass;
  for (int empty = 0; empty < kEnough;) {
    pass = SignalAll(mark, SIGKILL, pass.zombies);
    const std::vector<UniqueFd>& signalled = pass.signalled;
    empty = !signalled.empty() ? 0 : empty + (pass.missed ? 1 : kEnough / 2);
    for (const UniqueFd& pidfd : signalled) {
      const absl::Duration left = deadline - Clock::Real().Monotonic();
      pollfd fd = {pidfd.get(), POLLIN, 0};
      poll(&fd, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left))));
    }
    const bool nothing = signalled.empty() && !pass.missed;
    if (nothing || empty >= kEnough || Clock::Real().Monotonic() < deadline) continue;
    return absl::DeadlineExceededError(
        absl::StrCat("processes with ", mark, signalled.empty() ? " may still run " : " still run ",
                     absl::FormatDuration(patience), " after the first SIGKILL: ",
                     signalled.empty() ? "some ended before they could be read"
                                       : absl::StrCat(signalled.size(), " in the last pass")));
  }
  return absl::OkStatus();
}

}  // namespace muster
