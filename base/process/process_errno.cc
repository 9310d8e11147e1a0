#include "base/process/process_errno.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster {

absl::Status ProcessErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case ENOEXEC:
      return absl::PermissionDeniedError(message);
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace muster
