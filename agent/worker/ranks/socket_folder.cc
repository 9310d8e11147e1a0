#include "agent/worker/ranks/socket_folder.h"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/logging.h"

namespace muster::agent {
namespace {

// The names of the sockets: /rank-0.sock and so on.
constexpr size_t kNameBytes = 24;

bool Fits(const std::string& folder) {
  return !folder.empty() && folder.front() == '/' &&
         folder.size() + kNameBytes < sizeof(sockaddr_un::sun_path);
}

}  // namespace

SocketFolder::SocketFolder(const std::string& preferred, const std::string& temporary) {
  if (Fits(preferred)) {
    path_ = preferred;
    return;
  }
  constexpr absl::string_view kName = "/muster-agent-XXXXXX";
  std::string folder = absl::StrCat(temporary, kName);
  if (!Fits(folder) || temporary.empty()) folder = absl::StrCat("/tmp", kName);
  made_ = mkdtemp(folder.data()) != nullptr;  // mode 0700
  if (made_) {
    path_ = folder;
  } else {
    MUSTER_LOG(WARN, "commands get no socket for reports", {"folder", folder},
               {"error", std::strerror(errno)});
  }
}

SocketFolder::~SocketFolder() {
  if (made_) rmdir(path_.c_str());
}

}  // namespace muster::agent
