#include "base/process/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/process/process_errno.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

// Returns the fields of /proc/PID/stat after the name, which may itself hold spaces and
// parentheses; the first is field 3, the state.
absl::StatusOr<std::vector<std::string>> StatFields(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ProcessErrnoStatus(errno, absl::StrCat("process ", pid));
  char text[1024];
  const ssize_t n = read(fd.get(), text, sizeof(text));
  if (n <= 0) return absl::NotFoundError(absl::StrCat("process ", pid, " is gone"));
  const std::string line(text, static_cast<size_t>(n));
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return absl::InternalError(path + " has no name field");
  std::vector<std::string> fields =
      absl::StrSplit(line.substr(name_end + 1), ' ', absl::SkipWhitespace());
  if (fields.size() < 20) return absl::InternalError(path + " is short");
  return fields;
}

}  // namespace

absl::StatusOr<ProcessStat> ReadProcessStat(pid_t pid) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> fields, StatFields(pid));
  ProcessStat stat;
  stat.ended = fields[0] == "Z" || fields[0] == "X";
  if (!absl::SimpleAtoi(fields[19], &stat.start_time)) {  // field 22
    return absl::InternalError(absl::StrCat("/proc/", pid, "/stat: bad start time"));
  }
  return stat;
}

}  // namespace muster
