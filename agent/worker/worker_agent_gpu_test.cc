// The agent program with ranks on GPUs, which a fake library of the driver describes.
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/worker/worker_agent_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// NVLink bridges the first GPU with the third, and the second with the fourth.
constexpr char kBridged[] =
    "driver 580.65.06\n"
    "gpu uuid=GPU-a name=A pci=00000000:1B:00.0 peers=2 board=0\n"
    "gpu uuid=GPU-b name=A pci=00000000:1C:00.0 peers=3 board=1\n"
    "gpu uuid=GPU-c name=A pci=00000000:1D:00.0 peers=0 board=2\n"
    "gpu uuid=GPU-d name=A pci=00000000:1E:00.0 peers=1 board=3\n";

TEST_F(WorkerAgentTest, EachRankSeesOneGpuAndTheNextRankItsNeighbour) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(4);
  StartAgent(4, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "NVIDIA_VISIBLE_DEVICES=all"},
             {"--gpus=4", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 4);
  EXPECT_EQ(Variable(0, "CUDA_VISIBLE_DEVICES"), "GPU-a");
  EXPECT_EQ(Variable(1, "CUDA_VISIBLE_DEVICES"), "GPU-c");
  EXPECT_EQ(Variable(2, "CUDA_VISIBLE_DEVICES"), "GPU-b");
  EXPECT_EQ(Variable(3, "CUDA_VISIBLE_DEVICES"), "GPU-d");
}

TEST_F(WorkerAgentTest, AJobsOwnChoiceOfGpusStays) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(1);
  StartAgent(1, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "CUDA_VISIBLE_DEVICES=3"},
             {"--gpus=1", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  RunRound(1, 1, 1);
  EXPECT_EQ(Variable(0, "CUDA_VISIBLE_DEVICES"), "3");
}

TEST_F(WorkerAgentTest, AWorkerWithFewerGpusThanRanksSaysWhichItSees) {
  std::ofstream(folder_ + "/nvml.txt") << kBridged;
  spec_.mutable_workers()->set_gpus(2);
  spec_.mutable_failure_policy()->set_on_rank_failure("Shrink");
  StartAgent(2, {absl::StrCat("FAKE_NVML=", folder_, "/nvml.txt"), "NVIDIA_VISIBLE_DEVICES=GPU-d"},
             {"--gpus=2", "--nvml=agent/hardware/libfake_nvml.so"});
  ASSERT_TRUE(coordinator_->Greet(1, spec_).has_value());
  Prepare(1, 1, 2);
  const auto exited = Wait(AgentMessage::kRankExited);
  ASSERT_TRUE(exited.has_value());
  EXPECT_THAT(exited->rank_exited().log_tail(),
              testing::HasSubstr(
                  "workers.gpus: is 2, and this worker sees 1 (GPU-d) with driver 580.65.06: "
                  "each rank computes on a GPU of its own"));
}

}  // namespace
}  // namespace muster::agent
