#include "cli/run/generator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {
namespace {

// Makes `request` the standard input.
absl::Status HandOver(const std::string& request) {
  const int fd = memfd_create("request", MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make the request");
  if (write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size()) ||
      lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0) {
    return absl::ErrnoToStatus(errno, "cannot hand over the request");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ChooseCheckpoint(const CheckpointPlace& place, const Flags& flags) {
  const std::string& directory = place.uri;
  MUSTER_ASSIGN_OR_RETURN(const int64_t step, flags.GetInt("step", -1));
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files, OpenPlace(place));
  if (InspectCheckpoint(*files, directory).complete) return directory;
  MUSTER_ASSIGN_OR_RETURN(const auto listings, ListCheckpoints(*files, directory));
  std::vector<int64_t> steps;
  for (const CheckpointListing& listing : listings) {
    if (!listing.complete) continue;
    if (!flags.Has("step") || listing.step == step) return JoinPath(directory, listing.directory);
    steps.push_back(listing.step);
  }
  if (!steps.empty()) {
    return absl::NotFoundError(absl::StrCat(directory, " has no complete checkpoint of step ", step,
                                            ", but of: ", absl::StrJoin(steps, ", ")));
  }
  return absl::NotFoundError(absl::StrCat(directory, " has no complete checkpoint; `muster ",
                                          "checkpoints --dir ", directory, "` says what is there"));
}

absl::Status BecomeGenerator(const Flags& flags, const Json& request) {
  std::string program = flags.Get("generator", "");
  if (program.empty()) {
    MUSTER_ASSIGN_OR_RETURN(program,
                            FindProgram("trainer/generate", "muster-generate", "generator"));
  }
  MUSTER_RETURN_IF_ERROR(HandOver(DumpJson(request)));
  std::fflush(nullptr);
  execl(program.c_str(), program.c_str(), nullptr);
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot start ", program));
}

}  // namespace muster::cli
