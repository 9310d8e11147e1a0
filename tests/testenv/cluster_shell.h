#ifndef MUSTER_TESTS_TESTENV_CLUSTER_SHELL_H_
#define MUSTER_TESTS_TESTENV_CLUSTER_SHELL_H_

#include <string>

#include "absl/time/time.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// Runs shell commands as a user of the cluster would: kubectl and helm are in PATH, the current
// folder is one of the test's own, and what the programs cache goes there. Not thread-safe;
// `cluster` must outlive it.
class ClusterShell {
 public:
  // Makes `folder` below the test's temporary folder. A command may take `patience`.
  ClusterShell(const TestCluster& cluster, const std::string& folder, absl::Duration patience);

  const std::string& folder() const { return folder_; }

  CommandResult Try(const std::string& commands) const;
  // Expects exit code 0; returns the output.
  std::string Run(const std::string& commands) const;
  // Copies charts/ and deploy/ into the folder: Helm warns of links, which runfiles are.
  void CopyCharts() const;

 private:
  const TestCluster& cluster_;
  const std::string folder_;
  const absl::Duration patience_;
};

// The path of a file of the source tree, or a built one, that the test has as data.
std::string DataPath(const std::string& path);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_TESTENV_CLUSTER_SHELL_H_
