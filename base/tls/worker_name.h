#ifndef MUSTER_BASE_TLS_WORKER_NAME_H_
#define MUSTER_BASE_TLS_WORKER_NAME_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster {

// Returns the DNS name in the certificate of a worker: "worker-3.UID.muster". It is no name of any
// name server: by it agents of one job's workers know each other, whatever their addresses. Pure.
inline std::string WorkerServerName(absl::string_view job_uid, int index) {
  return absl::StrCat("worker-", index, ".", job_uid, ".muster");
}

}  // namespace muster

#endif  // MUSTER_BASE_TLS_WORKER_NAME_H_
