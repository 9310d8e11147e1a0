#ifndef MUSTER_CLI_JOBS_CLUSTER_FILE_H_
#define MUSTER_CLI_JOBS_CLUSTER_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/json.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// An empty cluster that exists only as a file, with the operator's own scheduler over it. It
// answers like a running operator's HTTP API. Not thread-safe.
class ClusterFile {
 public:
  // `file` is a cluster file as for `muster simulate`. InvalidArgument describes the problem.
  static absl::StatusOr<std::unique_ptr<ClusterFile>> Open(Files& files, const std::string& file);
  ~ClusterFile();

  // Returns the page of POST /api/v1/whatif: the places that the job would get. InvalidArgument for
  // a job that an API server would reject.
  absl::StatusOr<Json> WhatIf(const control::TrainingJob& job) const;
  // Returns the page of GET /api/v1/topology, `depth` levels deep.
  Json Tree(int depth) const;

 private:
  struct World;
  explicit ClusterFile(std::unique_ptr<World> world);
  std::unique_ptr<World> world_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_CLUSTER_FILE_H_
