#ifndef MUSTER_CLI_JOBS_SOCKET_FOLDER_H_
#define MUSTER_CLI_JOBS_SOCKET_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {

// The places for folders of sockets. A socket's path must be shorter than 108 bytes, so a path in
// the folder of the job's state is often too long.
struct SocketPlaces {
  std::string runtime;  // XDG_RUNTIME_DIR; may be empty
  std::string shared;   // where every user may make folders: /tmp

  static SocketPlaces OfThisUser();
};

// Makes and returns the folder for the sockets of the job's operator. Only this user can enter it:
// `runtime`/muster, or `shared`/muster-UID, or a new folder in `shared` if that name cannot be
// used, for example because another user has taken it. The choice is recorded in the job's folder,
// which must exist, because workers that outlive `muster run` look for the next one in the same
// place.
absl::StatusOr<std::string> MakeSocketFolder(const JobPaths& paths, const SocketPlaces& places);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_SOCKET_FOLDER_H_
