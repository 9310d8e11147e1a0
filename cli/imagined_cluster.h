#ifndef MUSTER_CLI_IMAGINED_CLUSTER_H_
#define MUSTER_CLI_IMAGINED_CLUSTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/files.h"
#include "base/json.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// A cluster that is only a file, with nothing on it, and the operator's own scheduler over it. It
// answers as a running operator's HTTP API would. Not thread-safe.
class ImaginedCluster {
 public:
  // `file` is a cluster file as `muster simulate` takes it. InvalidArgument names what is wrong.
  static absl::StatusOr<std::unique_ptr<ImaginedCluster>> Open(Files& files,
                                                               const std::string& file);
  ~ImaginedCluster();

  // Where the job would go: the page of POST /api/v1/whatif. InvalidArgument for a job that an API
  // server would refuse.
  absl::StatusOr<Json> WhatIf(const control::TrainingJob& job) const;
  // The page of GET /api/v1/topology, `depth` levels deep.
  Json Tree(int depth) const;

 private:
  struct World;
  explicit ImaginedCluster(std::unique_ptr<World> world);
  std::unique_ptr<World> world_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_IMAGINED_CLUSTER_H_
