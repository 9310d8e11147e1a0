#ifndef MUSTER_TESTS_TESTENV_TEST_CLUSTER_H_
#define MUSTER_TESTS_TESTENV_TEST_CLUSTER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"

namespace muster::tests {

// The exit status and output of a program.
struct CommandResult {
  ExitStatus exit;
  std::string out;
  std::string err;

  bool ok() const { return exit.known && exit.code == 0; }
};

// The real control plane that a `cluster_test` (cluster_test.bzl) runs in, and a namespace of the
// test's own, which the destructor deletes. Objects without a namespace (nodes, cluster roles) are
// shared by all tests: give them Unique() names and delete them. Not thread-safe.
class TestCluster {
 public:
  // The namespace's name begins with `prefix`. Returns FailedPrecondition outside of a
  // cluster_test.
  static absl::StatusOr<std::unique_ptr<TestCluster>> Create(const std::string& prefix);
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  // Path of a cluster administrator's kubeconfig.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // The API server's URL, e.g. "https://127.0.0.1:6443", and the PEM file of the CA that signed its
  // certificate.
  const std::string& server() const { return server_; }
  const std::string& ca_file() const { return ca_file_; }
  // The test's own namespace.
  const std::string& name_space() const { return name_space_; }
  // Path of a built program: kubectl, helm, etcd, kube-apiserver, kubelet …
  std::string Program(const std::string& name) const;
  // `name` with a suffix that no other test has.
  std::string Unique(const std::string& name) const;

  // Runs kubectl as the administrator, in the test's namespace unless `arguments` say otherwise,
  // and waits for its end. A non-zero exit code is a result, not an error.
  absl::StatusOr<CommandResult> Kubectl(const std::vector<std::string>& arguments,
                                        std::string_view input = "",
                                        absl::Duration within = kPatience) const;
  // The administrator's client. Use it for repeated reads: each Kubectl() call costs a quarter of a
  // second of a core.
  kube::RestApi& api() const { return *api_; }
  // Read objects of the test's namespace, or of the cluster if the type has no namespaces.
  absl::StatusOr<Json> Get(const kube::ResourceType& type, const std::string& name) const;
  absl::StatusOr<std::vector<Json>> List(const kube::ResourceType& type,
                                         const std::string& label_selector = "") const;
  // Server-side apply of YAML or JSON documents.
  absl::Status Apply(const std::string& documents) const;
  // Applies the tree's CustomResourceDefinition, the same for all tests, and waits until the server
  // serves it.
  absl::Status InstallCrd() const;
  // Creates a ServiceAccount in the test's namespace, which has no rights until a role is bound to
  // it, and returns the path of a kubeconfig with its token.
  absl::StatusOr<std::string> ServiceAccountKubeconfig(const std::string& name) const;
  absl::StatusOr<std::string> ServiceAccountToken(const std::string& name) const;

  // Returns the path of a kubeconfig with a client certificate for a user in `groups`. For user
  // "system:node:N" in group "system:nodes" the Node authorizer and NodeRestriction limit the
  // client to that node's objects.
  absl::StatusOr<std::string> UserKubeconfig(const std::string& user,
                                             const std::vector<std::string>& groups) const;

  // Imports an image from a docker-archive or OCI layout into a node, or into "all"; for a
  // cluster_test with `nodes`.
  absl::Status ImportImage(const std::string& node, const std::string& archive) const;
  // Runs a program on a node, where it sees the node's files, network and processes, as root.
  absl::StatusOr<CommandResult> OnNode(const std::string& node,
                                       const std::vector<std::string>& argv) const;

  // The following are for a private control plane only (else FailedPrecondition). `component` is
  // "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", or of a node
  // "kubelet-0", "containerd-0", "kube-proxy-0", or "node-0" for everything on it.
  bool is_private() const;
  absl::Status Kill(const std::string& component) const;  // SIGKILL
  absl::Status Stop(const std::string& component) const;  // SIGTERM; waits
  // Keeps its data; waits until all are ready. A kubelet that was away may not know its pods yet.
  absl::Status Start(const std::string& component) const;
  absl::Status Freeze(const std::string& component) const;  // SIGSTOP
  absl::Status Thaw(const std::string& component) const;    // SIGCONT

  // Runs any program to its end, with this process's environment.
  static absl::StatusOr<CommandResult> Run(const std::vector<std::string>& argv,
                                           std::string_view input = "",
                                           absl::Duration within = kPatience);

 private:
  TestCluster() = default;
  absl::Status Control(const std::string& command, const std::string& component) const;

  std::string name_;
  std::string kubeconfig_;
  std::string server_;
  std::string ca_file_;
  std::string bin_;
  std::string tool_;
  std::string name_space_;
  std::string unique_;
  std::unique_ptr<kube::RestApi> api_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_TESTENV_TEST_CLUSTER_H_
