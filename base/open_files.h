#ifndef MUSTER_BASE_OPEN_FILES_H_
#define MUSTER_BASE_OPEN_FILES_H_

#include <cstdint>

namespace muster {

// Raises this process's soft limit of open files, which is low for the sake of programs that use
// select(), to the hard limit. Returns the limit that is then in force.
int64_t RaiseOpenFileLimit();

}  // namespace muster

#endif  // MUSTER_BASE_OPEN_FILES_H_
