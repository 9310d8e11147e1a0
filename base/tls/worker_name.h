#ifndef MUSTER_BASE_TLS_WORKER_NAME_H_
#define MUSTER_BASE_TLS_WORKER_NAME_H_

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster {

// Returns the DNS name in the certificate of a worker: "worker-3.UID.muster". It is no name of any
// name server: by it agents of one job's workers know each other, whatever their addresses. Pure.
inline std::string WorkerServerName(absl::string_view job_uid, int index) {
  return absl::StrCat("worker-", index, ".", job_uid, ".muster");
}

// Returns true if it is the name of some worker of that job.
inline bool IsWorkerServerName(absl::string_view name, absl::string_view job_uid) {
  int index = 0;
  return absl::ConsumePrefix(&name, "worker-") &&
         absl::ConsumeSuffix(&name, absl::StrCat(".", job_uid, ".muster")) &&
         absl::SimpleAtoi(name, &index) && absl::StrCat(index) == name;
}

}  // namespace muster

#endif  // MUSTER_BASE_TLS_WORKER_NAME_H_
