// `muster logs`: prints the output of the workers and their ranks.

#include <poll.h>

#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/job_paths.h"
#include "cli/local_jobs.h"

namespace muster::cli {
namespace {

struct Selection {
  std::string worker;  // empty: all
  std::string rank;    // empty: all
};

// Prints the growth of files since the last call; tracks each by name and offset.
class Tailer {
 public:
  Tailer(std::string pods, Selection selection)
      : pods_(std::move(pods)), selection_(std::move(selection)) {}

  absl::Status RunOnce() {
    MUSTER_ASSIGN_OR_RETURN(const auto pods, FileSystem().List(pods_));
    for (const DirectoryEntry& pod : pods) {
      if (pod.kind != FileKind::kDirectory || !IsWanted(pod.name)) continue;
      const std::string logs = JoinPath(JoinPath(pods_, pod.name), "logs");
      const auto files = FileSystem().List(logs);
      if (absl::IsNotFound(files.status())) continue;
      MUSTER_RETURN_IF_ERROR(files.status());
      for (const DirectoryEntry& file : *files) {
        if (file.kind != FileKind::kFile || !IsWantedFile(file.name)) continue;
        MUSTER_RETURN_IF_ERROR(PrintNew(JoinPath(logs, file.name), pod.name, file.name));
      }
    }
    std::fflush(stdout);
    return absl::OkStatus();
  }

 private:
  // Pods are <job>-<index>-<incarnation>.
  bool IsWanted(const std::string& pod) const {
    if (selection_.worker.empty()) return true;
    const size_t last = pod.rfind('-');
    if (last == std::string::npos) return false;
    return absl::EndsWith(pod.substr(0, last), absl::StrCat("-", selection_.worker));
  }
  bool IsWantedFile(const std::string& file) const {
    return selection_.rank.empty() ? absl::StartsWith(file, "rank-")
                                   : file == absl::StrCat("rank-", selection_.rank, ".log");
  }

  absl::Status PrintNew(const std::string& path, const std::string& pod, const std::string& file) {
    MUSTER_ASSIGN_OR_RETURN(const auto opened, FileSystem().Open(path));
    uint64_t& offset = offsets_[path];
    if (opened->size() < offset) offset = 0;  // rotated
    if (opened->size() == offset) return absl::OkStatus();
    std::string bytes(opened->size() - offset, '\0');
    MUSTER_RETURN_IF_ERROR(opened->Read(offset, bytes.data(), bytes.size()));
    if (path != last_path_) std::printf("==> %s/%s\n", pod.c_str(), file.c_str());
    last_path_ = path;
    offset += bytes.size();
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return absl::OkStatus();
  }

  std::string pods_;
  Selection selection_;
  std::map<std::string, uint64_t> offsets_;
  std::string last_path_;
};

}  // namespace

std::vector<FlagSpec> LogsFlags() {
  return {{"state-dir", "where jobs keep their state"},
          {"worker", "only this worker's index"},
          {"rank", "only this rank"},
          {"follow", "go on printing", /*is_switch=*/true}};
}

int LogsMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, LogsFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto paths =
      FindJob(FileSystem(), *root, flags->positional().empty() ? "" : flags->positional()[0]);
  if (!paths.ok()) return Fail(paths.status());
  // Logs are worth printing whatever other error the job has.
  if (const auto job = ReadJob(*paths); absl::IsNotFound(job.status())) return Fail(job.status());
  Tailer tailer(paths->pods(), {flags->Get("worker", ""), flags->Get("rank", "")});
  while (true) {
    if (const absl::Status status = tailer.RunOnce(); !status.ok()) return Fail(status);
    if (!flags->Has("follow")) return kExitOk;
    poll(nullptr, 0, 200);
  }
}

}  // namespace muster::cli
