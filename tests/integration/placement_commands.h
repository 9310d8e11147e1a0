#ifndef MUSTER_TESTS_INTEGRATION_PLACEMENT_COMMANDS_H_
#define MUSTER_TESTS_INTEGRATION_PLACEMENT_COMMANDS_H_

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/operator_world.h"

// Runs the `muster` binary as a user does, against a running operator over the embedded API.
namespace muster::control {

struct Said {
  int code = -1;
  std::string out;
  std::string error;
};

// A job whose workers have 8 GPUs each, a whole node's; `more` holds further fields of the spec.
inline std::string Manifest(const std::string& name, int workers, const std::string& topology,
                            const std::string& more = "") {
  return absl::StrCat(R"({"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"namespace": "default", "name": ")",
                      name, R"("}, "spec": {)", more, R"("workers": {"count": )", workers,
                      R"(, "gpus": 8}, "topology": )", topology,
                      R"(, "template": {"spec": {"containers": [
          {"name": "worker", "command": ["train"]}]}}}})");
}
class PlacementCommandsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/commands";
    ASSERT_TRUE(FileSystem().MakeDirectories(folder_).ok());
    for (int i = 0; i < 4; ++i) AddNode(i);
    world_.StartOperator();
    server_ = world_.app->http_address();
  }

  // Adds a node with 8 GPUs. SetUp() makes two leaves of two nodes each under one spine.
  void AddNode(int index) {
    Json node = kube::NewObject(kube::kNodes, {"", absl::StrCat("n", index)});
    node["metadata"]["labels"] = {
        {"network.topology.nvidia.com/leaf", absl::StrCat("l", index / 2)},
        {"network.topology.nvidia.com/spine", "s0"}};
    const auto made = world_.memory->Create(kube::kNodes, node);
    ASSERT_TRUE(made.ok()) << made.status();
    node = *made;
    node["status"] = {{"allocatable",
                       {{"cpu", "64"}, {"memory", "64Gi"}, {"pods", "8"}, {"nvidia.com/gpu", "8"}}},
                      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    const auto stored = world_.memory->UpdateStatus(kube::kNodes, node);
    ASSERT_TRUE(stored.ok()) << stored.status();
  }

  void Submit(const std::string& name, int workers, const std::string& topology,
              const std::string& more = "") {
    world_.CreateJob(Manifest(name, workers, topology, more));
  }

  // Runs `muster` to its end.
  Said Muster(std::vector<std::string> arguments) {
    const std::string out = folder_ + "/out", error = folder_ + "/error";
    ProcessSpec spec;
    spec.argv = std::move(arguments);
    spec.argv.insert(spec.argv.begin(),
                     std::getenv("TEST_SRCDIR") + std::string("/muster/cli/muster"));
    spec.env = {"PATH=/usr/bin:/bin", "HOME=" + folder_};
    spec.cwd = folder_;
    const int out_fd = open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    const int error_fd = open(error.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    spec.fds = {{out_fd, 1}, {error_fd, 2}};
    auto process = ProcessLauncher::Real().Launch(spec);
    close(out_fd);
    close(error_fd);
    EXPECT_TRUE(process.ok()) << process.status();
    if (!process.ok()) return {};
    pollfd ended{(*process)->poll_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, kPatienceMillis), 1) << "muster has not ended";
    const auto status = (*process)->Poll();
    EXPECT_TRUE(status.ok() && status->has_value());
    return {status.ok() && *status ? (*status)->code : -1, ReadFile(FileSystem(), out).value_or(""),
            ReadFile(FileSystem(), error).value_or("")};
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), path, text).ok());
    return path;
  }

  // Waits until the job's status.placement.reason is `reason`.
  bool HasPlacementReason(const std::string& name, const std::string& reason) {
    return world_.Until([&] {
      const auto job = world_.memory->Get(kube::kTrainingJobs, {"default", name});
      return job.ok() && kube::StringAt(*job, {"status", "placement", "reason"}) == reason;
    });
  }

  OperatorWorld world_;
  std::string folder_;
  std::string server_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_PLACEMENT_COMMANDS_H_
