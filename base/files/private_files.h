#ifndef MUSTER_BASE_FILES_PRIVATE_FILES_H_
#define MUSTER_BASE_FILES_PRIVATE_FILES_H_

#include "base/files/files.h"

namespace muster {

// The machine's file system for files that may hold a secret: it creates files with mode 0600 and
// directories with 0700, whatever the umask. Existing ones keep their mode. Lives forever.
Files& PrivateFileSystem();

}  // namespace muster

#endif  // MUSTER_BASE_FILES_PRIVATE_FILES_H_
