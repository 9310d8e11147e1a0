#include "agent/worker/ranks/rank_environment.h"

#include <string>
#include <vector>

#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// The variables are those of worker_env in torch/distributed/elastic/agent/server/
// local_elastic_agent.py of PyTorch 2.11, and those of `torchrun --help`'s own options (PET_).
TEST(RankEnvironmentTest, HasEveryVariableThatTorchrunSets) {
  v1alpha1::WorkerId worker;
  worker.set_job("gpt");
  worker.set_job_uid("u-7");
  worker.set_index(4);
  const RankPlacement at = {.rank = 5,
                            .local_rank = 1,
                            .world_size = 8,
                            .local_world_size = 2,
                            .group_rank = 2,
                            .group_world_size = 4,
                            .restart_count = 3,
                            .master_endpoint = "node-a:29500"};
  const Environment env =
      RankEnvironment({{"PATH", "/bin"}, {"RANK", "old"}}, worker, at, 10, "node-c");
  const Environment expected = {{"PATH", "/bin"},
                                {"RANK", "5"},
                                {"LOCAL_RANK", "1"},
                                {"WORLD_SIZE", "8"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "2"},
                                {"GROUP_WORLD_SIZE", "4"},
                                {"ROLE_RANK", "5"},
                                {"ROLE_WORLD_SIZE", "8"},
                                {"ROLE_NAME", "default"},
                                {"MASTER_ADDR", "node-a"},
                                {"MASTER_PORT", "29500"},
                                {"TORCHELASTIC_RESTART_COUNT", "3"},
                                {"TORCHELASTIC_MAX_RESTARTS", "10"},
                                {"TORCHELASTIC_RUN_ID", "u-7"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                                {"PET_NNODES", "4"},
                                {"PET_NPROC_PER_NODE", "2"},
                                {"PET_NODE_RANK", "2"},
                                {"PET_MASTER_ADDR", "node-a"},
                                {"PET_MASTER_PORT", "29500"},
                                {"PET_RDZV_ID", "u-7"},
                                {"JOB_COMPLETION_INDEX", "4"},
                                {"OMP_NUM_THREADS", "1"},
                                {"OMP_WAIT_POLICY", "passive"}};
  EXPECT_EQ(env, expected);
}

TEST(RankEnvironmentTest, WhereThereAreSparesTheIndexIsThatOfTheWork) {
  v1alpha1::WorkerId worker;
  worker.set_index(4);
  RankPlacement at;
  at.completion_index = 2;
  EXPECT_EQ(RankEnvironment({}, worker, at, 10, "node").at("JOB_COMPLETION_INDEX"), "2");
}

TEST(RankEnvironmentTest, WhatTheJobSetsForTorchAndOpenMpStays) {
  const Environment env = RankEnvironment({{"OMP_NUM_THREADS", "4"},
                                           {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                                           {"PYTHON_EXEC", "/opt/python"}},
                                          {}, {}, 0, "h");
  EXPECT_EQ(env.at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(env.at("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "0");
  EXPECT_EQ(env.at("PYTHON_EXEC"), "/opt/python") << "an input of torchrun itself";
  EXPECT_EQ(env.at("MASTER_ADDR"), "h");
}

TEST(ReadUserCommandTest, TakesCommandAndArgs) {
  const auto command =
      ReadUserCommand(R"({"spec":{"containers":[{"name":"sidecar","command":["x"]},)"
                      R"({"name":"worker","command":["python3"],"args":["train.py","--lr=1"]}]}})");
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(*command, (std::vector<std::string>{"python3", "train.py", "--lr=1"}));
  EXPECT_EQ(ReadUserCommand(R"({"spec":{"containers":[{"name":"worker"}]}})").status().message(),
            "template.spec.containers: the container `worker` has no command, and the job has no "
            "trainer");
  EXPECT_FALSE(ReadUserCommand("nonsense").ok());
}

// Regression: checkpoint.uri was accepted for a command, but never passed to it.
TEST(AddCheckpointDirectoryTest, TheDirectoryIsMadeAndPassedToTheCommand) {
  MemoryFiles files;
  Environment env;
  v1alpha1::TrainingJobSpec spec;
  ASSERT_TRUE(AddCheckpointDirectory(spec, files, env).ok());
  EXPECT_EQ(env, Environment{}) << "without spec.checkpoint";
  spec.mutable_checkpoint()->set_uri("/data/job/checkpoints");
  ASSERT_TRUE(AddCheckpointDirectory(spec, files, env).ok());
  EXPECT_EQ(env, (Environment{{"MUSTER_CHECKPOINT_DIR", "/data/job/checkpoints"}}));
  const auto made = files.Stat("/data/job/checkpoints");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->kind, FileKind::kDirectory);
  spec.mutable_checkpoint()->set_uri("s3://bucket/job");
  ASSERT_TRUE(AddCheckpointDirectory(spec, files, env).ok());
  EXPECT_EQ(env.at("MUSTER_CHECKPOINT_DIR"), "s3://bucket/job");
}

TEST(AddCheckpointDirectoryTest, ADirectoryThatCannotBeMadeIsAnError) {
  MemoryFiles files;
  Environment env;
  ASSERT_TRUE(WriteFileAtomically(files, "/data", "a file").ok());
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_checkpoint()->set_uri("/data/job");
  const absl::Status status = AddCheckpointDirectory(spec, files, env);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message().substr(0, 41), "checkpoint.uri cannot be made: /data/job:");
  EXPECT_EQ(env, Environment{});
}

InfinibandReading Port(const std::string& device, const std::string& link_layer,
                       const std::string& state = "ACTIVE") {
  InfinibandReading reading;
  reading.device = device;
  reading.port = 1;
  reading.link_layer = link_layer;
  reading.state = state;
  return reading;
}

Environment HintsOf(const std::vector<InfinibandReading>& ports, int workers = 2,
                    Environment env = {}) {
  AddNcclHints(ports, {}, "10.0.0.2", workers, env);
  return env;
}

const std::vector<InterfaceAddress> kTwoInterfaces = {{"lo", "127.0.0.1", true},
                                                      {"eth0", "10.0.0.2"},
                                                      {"eth0", "fd00::2"},
                                                      {"docker0", "172.17.0.1"}};

TEST(NcclHintsTest, OfSeveralInterfacesTheOneWithTheWorkersAddressIsNamed) {
  for (const char* host : {"10.0.0.2", "fd00::2"}) {
    Environment env;
    AddNcclHints({}, kTwoInterfaces, host, 2, env);
    EXPECT_EQ(env, (Environment{{"NCCL_SOCKET_IFNAME", "=eth0"}, {"GLOO_SOCKET_IFNAME", "eth0"}}));
  }
}

TEST(NcclHintsTest, OneInterfaceAndAnUnknownAddressAndTheLoopbackNeedNoName) {
  const auto hints = [](const std::vector<InterfaceAddress>& addresses, const char* host) {
    Environment env;
    AddNcclHints({}, addresses, host, 2, env);
    return env;
  };
  EXPECT_EQ(hints({kTwoInterfaces[0], kTwoInterfaces[1]}, "10.0.0.2"), Environment());
  EXPECT_EQ(hints(kTwoInterfaces, "10.9.9.9"), Environment());
  EXPECT_EQ(hints(kTwoInterfaces, "127.0.0.1"), Environment()) << "all workers on this machine";
}

TEST(NcclHintsTest, AnInterfaceThatTheJobNamesStays) {
  Environment env = {{"NCCL_SOCKET_IFNAME", "eth"}};
  AddNcclHints({}, kTwoInterfaces, "10.0.0.2", 2, env);
  EXPECT_EQ(env.at("NCCL_SOCKET_IFNAME"), "eth");
}

TEST(NcclHintsTest, TheFabricIsNamedWhereAnEthernetAdapterIsBesideIt) {
  const Environment env =
      HintsOf({Port("mlx5_0", "InfiniBand"), Port("mlx5_1", "InfiniBand"),
               Port("mlx5_2", "InfiniBand", "DOWN"), Port("mlx5_bond_0", "Ethernet")});
  EXPECT_EQ(env, (Environment{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"}}));
}

TEST(NcclHintsTest, AdaptersOfOneKindAreLeftToNccl) {
  EXPECT_EQ(HintsOf({}), Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("mlx5_1", "InfiniBand")}), Environment());
  EXPECT_EQ(HintsOf({Port("roce0", "Ethernet"), Port("roce1", "Ethernet")}), Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet", "DOWN")}),
            Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand", "INIT"), Port("roce0", "Ethernet")}),
            Environment());
}

TEST(NcclHintsTest, AWorkerAloneGetsNone) {
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet")}, 1), Environment());
}

TEST(NcclHintsTest, WhatTheJobSaysStays) {
  const Environment own = {{"NCCL_IB_HCA", "mlx5"}};
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet")}, 2, own), own);
}

}  // namespace
}  // namespace muster::agent
