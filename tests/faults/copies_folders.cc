#include "tests/faults/copies_folders.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"

namespace muster::tests {
namespace {

constexpr char kMemory[] = "/dev/shm";

}  // namespace

std::set<std::string> CopiesFolders(const std::vector<pid_t>& agents) {
  std::set<std::string> folders;
  for (const pid_t pid : agents) {
    const std::string descriptors = absl::StrCat("/proc/", pid, "/fd");
    const auto entries = FileSystem().List(descriptors);
    if (!entries.ok()) continue;
    for (const DirectoryEntry& entry : *entries) {
      char target[4096];
      const ssize_t size =
          readlink(JoinPath(descriptors, entry.name).c_str(), target, sizeof(target));
      const std::string path(target, static_cast<size_t>(std::max<ssize_t>(size, 0)));
      const std::string name = BaseName(path);
      // Files of the folder may be open, too, and a folder on disk that has the same prefix.
      if (path == JoinPath(kMemory, name) && absl::StartsWith(name, "muster-copies-")) {
        folders.insert(path);
      }
    }
  }
  return folders;
}

}  // namespace muster::tests
