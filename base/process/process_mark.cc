#include "base/process/process_mark.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/hash.h"

namespace muster {
namespace {

// Reads a file of /proc/PID; returns "" if the process is gone or this user may not read it.
std::string ReadProcFile(pid_t pid, const char* name) {
  constexpr size_t kAtOnce = size_t{1} << 16;  // an execve between two reads would truncate it
  const int fd = open(absl::StrCat("/proc/", pid, "/", name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  ssize_t n = 0;
  do {
    const size_t size = text.size();
    text.resize(size + kAtOnce);
    n = read(fd, text.data() + size, kAtOnce);
    text.resize(size + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  } while (n > 0);
  close(fd);
  return text;
}

bool HasLimit(pid_t pid, uint64_t number) {
  constexpr char kName[] = "\nMax file locks";
  const std::string limits = ReadProcFile(pid, "limits");
  const size_t at = limits.find(kName);
  if (at == std::string::npos) return false;
  const absl::string_view rest = absl::string_view(limits).substr(at + sizeof(kName) - 1);
  const std::vector<absl::string_view> fields =
      absl::StrSplit(rest.substr(0, rest.find('\n')), ' ', absl::SkipWhitespace());
  uint64_t soft = 0;
  return !fields.empty() && absl::SimpleAtoi(fields[0], &soft) && soft == number;
}

bool HasInEnvironment(pid_t pid, const std::string& entry) {
  return ('\0' + ReadProcFile(pid, "environ")).find('\0' + entry + '\0') != std::string::npos;
}

}  // namespace

// Lower than RLIM_INFINITY, which means "no limit".
uint64_t MarkNumber(const std::string& mark) { return Hash64(mark) >> 1; }

void TakeMark(uint64_t number) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_LOCKS, &limit) < 0) return;
  limit.rlim_cur = number;
  setrlimit(RLIMIT_LOCKS, &limit);
}

bool HasMark(pid_t pid, const std::string& mark) {
  return HasLimit(pid, MarkNumber(mark)) || HasInEnvironment(pid, mark);
}

}  // namespace muster
