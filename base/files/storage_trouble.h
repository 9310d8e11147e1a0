#ifndef MUSTER_BASE_FILES_STORAGE_TROUBLE_H_
#define MUSTER_BASE_FILES_STORAGE_TROUBLE_H_

#include <string>

#include "absl/time/time.h"

namespace muster {

// Storage that answers no request, as an object store that is down.
struct StorageTrouble {
  absl::Duration lasts;  // since the first of the requests in a row that failed
  std::string error;     // of the newest one
};

}  // namespace muster

#endif  // MUSTER_BASE_FILES_STORAGE_TROUBLE_H_
