#include "cli/flags/job_paths.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/files/private_files.h"
#include "base/hash.h"
#include "base/object_store/object_uri.h"
#include "base/status_macros.h"

namespace muster::cli {
namespace {

std::string ForShell(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("/._-+:@%,", c);
  });
  if (plain) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string JobPaths::Hint(absl::string_view command) const {
  const std::string hint = absl::StrCat("muster ", command, " ", job);
  const auto usual = StateRoot("");
  if (usual.ok() && *usual == root) return hint;
  return absl::StrCat(hint, " --state-dir ", ForShell(root));
}

std::string JobPaths::socket_name() const {
  return absl::StrFormat("%016x.sock", Hash64(folder()));
}

std::string JobPaths::http_socket_name() const {
  return absl::StrFormat("%016x.http.sock", Hash64(folder()));
}

absl::StatusOr<std::string> StateRoot(absl::string_view flag) {
  if (!flag.empty()) return Absolute(flag);
  if (const char* dir = std::getenv("MUSTER_STATE_DIR"); dir != nullptr && *dir != '\0') {
    return Absolute(dir);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return JoinPath(home, ".local/state/muster");
  }
  return absl::InvalidArgumentError(
      "no place for the job's state: set HOME or MUSTER_STATE_DIR, or give --state-dir");
}

absl::Status MakeJobFolder(const JobPaths& paths) {
  const bool holds_job = Exists(FileSystem(), paths.api());
  MUSTER_RETURN_IF_ERROR(PrivateFileSystem().MakeDirectories(paths.folder()));
  if (holds_job && chmod(paths.folder().c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", paths.folder(), " private"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> LocalJobs(Files& files, const std::string& root) {
  std::vector<std::string> jobs;
  const auto entries = files.List(root);
  if (absl::IsNotFound(entries.status())) return jobs;
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == FileKind::kDirectory && Exists(files, JobPaths{root, entry.name}.api())) {
      jobs.push_back(entry.name);
    }
  }
  return jobs;
}

std::string Absolute(absl::string_view path) {
  if (path.empty() || IsObjectUri(std::string(path))) return std::string(path);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(std::string(path), error);
  return error ? std::string(path) : absolute.lexically_normal().string();
}

absl::StatusOr<std::string> FindProgram(const std::string& package, const std::string& name,
                                        const std::string& flag) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return absl::InternalError(absl::StrCat("cannot read /proc/self/exe: ", error.message()));
  const std::filesystem::path here = self.parent_path();
  for (const std::filesystem::path& candidate :
       {here / name, here.parent_path() / package / name}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return absl::NotFoundError(absl::StrCat("there is no program ", name, " in ", here.string(),
                                          " nor in ", (here.parent_path() / package).string(),
                                          "; build //", package, ":", name, " or give --", flag));
}

}  // namespace muster::cli
