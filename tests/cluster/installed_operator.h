#ifndef MUSTER_TESTS_CLUSTER_INSTALLED_OPERATOR_H_
#define MUSTER_TESTS_CLUSTER_INSTALLED_OPERATOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "tests/testenv/cluster_shell.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A TrainingJob of a built-in trainer on real text, spread over the nodes that work. Jobs of one
// `spec` train to the same weights, bit for bit, whatever happens to them.
struct TrainerJob {
  std::string name;
  int workers = 3;
  int steps = 20;
  int save_every = 10;
  int global_batch = 12;     // of micro-batches of two sequences
  std::string elastic_size;  // more fields of spec.workers, as flow YAML after a comma: ", max: 4"
  // The source of the volume that is mounted at /checkpoints; the job's folder is NAME in it.
  std::string volume = "persistentVolumeClaim: {claimName: checkpoints}";
  std::string trainer;    // more lines of spec.trainer, each indented by four spaces
  std::string container;  // more fields of the worker's container, as flow YAML after "- {": "a: b"
  std::string spec;       // more lines of the spec, each indented by two spaces
};

// The operator on the nodes of a private control plane, installed by Helm from images of this
// tree's programs, and a namespace for jobs with the text that they train on. All tests of a binary
// share it: they use names of their own, and leave nodes and operator running. Not thread-safe.
class InstalledOperator {
 public:
  // Installs the operator at the first call; it is removed when the test program ends. A failure
  // ends the test program, because no test could run.
  static InstalledOperator& Get();
  ~InstalledOperator();

  TestCluster& cluster() { return *cluster_; }
  // A folder that all nodes see, as a network file system would be: jobs of TrainerJob's default
  // volume save there.
  const std::string& shared_folder() const { return shared_folder_; }

  // Runs shell commands as an administrator would, with kubectl, helm and the plugin `kubectl
  // muster` at hand, in a folder that has charts/ and deploy/; expects exit code 0 and returns the
  // output.
  std::string Shell(const std::string& commands) { return shell_->Run(commands); }
  // The path of that folder.
  const std::string& folder() const { return shell_->folder(); }
  // Runs kubectl in the namespace of jobs; expects exit code 0 and returns the output.
  std::string Kubectl(const std::string& words) { return shell_->Run(InNamespace(words)); }
  CommandResult TryKubectl(const std::string& words) { return shell_->Try(InNamespace(words)); }
  // Imports an image of tools/images.toml into all nodes, as muster.test/NAME:test. The images of
  // the chart's defaults are there already.
  void ImportImage(const std::string& name);
  // Imports an image of own_images.py into all nodes, as muster.test/NAME:own.
  void ImportOwnImage(const std::string& name);
  // Runs a shell command on a node, as root; expects exit code 0 and returns the output.
  std::string OnNode(const std::string& node, const std::string& command);

  void Apply(const TrainerJob& job);
  void ApplyYaml(const std::string& yaml);
  // Returns the object as JSON; null while it is not there.
  Json Job(const std::string& name);
  Json Pod(const std::string& name);
  // Waits until `done` is true of the job's JSON, and returns that JSON. If that takes more than
  // some minutes, the test fails with the output of kubectl describe.
  Json AwaitJob(const std::string& name, const std::function<bool(const Json&)>& done);
  Json AwaitPod(const std::string& name, const std::function<bool(const Json&)>& done);
  // Waits for Succeeded, and returns the job's JSON.
  Json AwaitSuccess(const std::string& name);
  // Waits until a step of at least `step` is saved.
  Json AwaitSaved(const std::string& name, int step);
  // Waits until condition `type` has this status and reason, and returns its message.
  std::string AwaitCondition(const std::string& job, const std::string& type,
                             const std::string& status, const std::string& reason);
  // Waits until the operator has its replicas, and one of them leads.
  void AwaitOperator();
  // Runs `helm WORDS`, which must replace all pods of the operator, and waits until the old ones
  // are gone.
  void ReplaceOperator(const std::string& words);
  void Delete(const std::string& job);
  // Returns the digest of the weights that the job saved after `step`; expects that they exist.
  std::string SavedWeights(const std::string& job, int step);

 private:
  InstalledOperator();
  void LinkPlugin();
  void ImportImages();
  void Install();
  void MakeVolume();
  // Returns where the operator's replicas are, which one leads, and the ends of their logs.
  std::string OperatorsStory();
  std::string InNamespace(const std::string& words) const;
  Json Await(const kube::ResourceType& type, const std::string& name,
             const std::function<bool(const Json&)>& done);

  std::unique_ptr<TestCluster> cluster_;
  std::optional<ClusterShell> shell_;
  std::string shared_folder_;
};

// Returns the job's condition of this type, or null.
Json ConditionOf(const Json& object, const std::string& type);
// Returns a field of the status by its path, e.g. {"checkpoint", "step"}; -1 if it is not there.
int64_t NumberAt(const Json& job, std::initializer_list<std::string_view> path);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_CLUSTER_INSTALLED_OPERATOR_H_
