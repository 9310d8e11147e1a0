#ifndef MUSTER_BASE_OPEN_FILES_H_
#define MUSTER_BASE_OPEN_FILES_H_

#include <cstdint>

namespace muster {

// Raises this process's limit of open files as far as it may: the soft limit, which is low for the
// sake of programs that use select(), to the hard one. Returns what it is then.
int64_t RaiseOpenFileLimit();

}  // namespace muster

#endif  // MUSTER_BASE_OPEN_FILES_H_
