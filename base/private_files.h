#ifndef MUSTER_BASE_PRIVATE_FILES_H_
#define MUSTER_BASE_PRIVATE_FILES_H_

#include "base/files.h"

namespace muster {

// The machine's file system for what may hold a secret: files it makes have mode 0600, directories
// 0700, whatever the umask. What is there already keeps its mode. Lives for ever.
Files& PrivateFileSystem();

}  // namespace muster

#endif  // MUSTER_BASE_PRIVATE_FILES_H_
