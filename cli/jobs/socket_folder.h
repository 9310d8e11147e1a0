#ifndef MUSTER_CLI_JOBS_SOCKET_FOLDER_H_
#define MUSTER_CLI_JOBS_SOCKET_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {

// Where folders for sockets may be: a socket's path must be shorter than 108 bytes, so that the
// folder of the job's state is often too long.
struct SocketPlaces {
  std::string runtime;  // XDG_RUNTIME_DIR; may be empty
  std::string shared;   // where every user may make folders: /tmp

  static SocketPlaces OfThisUser();
};

// Returns the folder of the sockets of the job's operator, and makes it. It is this user's alone:
// `runtime`/muster, else a folder of `shared` that nobody else has made first. It is written down
// in the job's folder, which must exist, because workers that outlive `muster run` look for the
// next one in the same place.
absl::StatusOr<std::string> MakeSocketFolder(const JobPaths& paths, const SocketPlaces& places);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_SOCKET_FOLDER_H_
