#include "cli/jobs/socket_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/files/files.h"
#include "base/files/private_files.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"

namespace muster::cli {
namespace {

constexpr size_t kMaxPath = 4096;

bool Fits(const JobPaths& paths, const std::string& folder) {
  return !folder.empty() && folder.front() == '/' &&
         UnixSocketAddress(JoinPath(folder, paths.http_socket_name())).ok();
}

std::vector<std::string> Candidates(const SocketPlaces& places) {
  std::vector<std::string> folders;
  if (!places.runtime.empty()) folders.push_back(JoinPath(places.runtime, "muster"));
  folders.push_back(JoinPath(places.shared, absl::StrCat("muster-", getuid())));
  return folders;
}

}  // namespace

SocketPlaces SocketPlaces::OfThisUser() {
  return {.runtime = EnvironmentVariable("XDG_RUNTIME_DIR"), .shared = "/tmp"};
}

absl::StatusOr<std::string> MakeSocketFolder(const JobPaths& paths, const SocketPlaces& places) {
  const std::string note = JoinPath(paths.folder(), "sockets");
  const std::string known = ReadFile(PrivateFileSystem(), note, kMaxPath).value_or("");
  if (Fits(paths, known) && MakePrivateFolder(known).ok()) return known;
  std::optional<std::string> made;
  for (const std::string& folder : Candidates(places)) {
    if (!made && Fits(paths, folder) && MakePrivateFolder(folder).ok()) made = folder;
  }
  if (!made) {
    made = JoinPath(places.shared, absl::StrCat("muster-", getuid(), "-XXXXXX"));
    if (mkdtemp(made->data()) == nullptr) {  // with mode 0700
      return absl::ErrnoToStatus(errno, absl::StrCat("no folder for the operator's sockets can be "
                                                     "made in ",
                                                     places.shared));
    }
  }
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(PrivateFileSystem(), note, *made));
  return *std::move(made);
}

}  // namespace muster::cli
