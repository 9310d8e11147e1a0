#include "agent/worker/worker_flags.h"

#include <vector>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

absl::StatusOr<WorkerAgentOptions> Parse(std::vector<const char*> arguments, Flags env = {}) {
  arguments.insert(arguments.begin(), "muster-agent");
  const auto flags = ParseWorkerFlags(static_cast<int>(arguments.size()), arguments.data(),
                                      [&env](const std::string& name) { return env[name]; });
  if (!flags.ok()) return flags.status();
  return ToWorkerAgentOptions(*flags);
}

TEST(WorkerFlagsTest, FlagsGoOverTheEnvironment) {
  const auto options = Parse({"worker", "--coordinator=unix:/a,unix:/b", "--index=3"},
                             {{"MUSTER_COORDINATOR", "unix:/c"},
                              {"MUSTER_WORKER_INDEX", "1"},
                              {"MUSTER_RANKS", "4"},
                              {"MUSTER_JOB", "gpt"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->coordinator.addresses, (std::vector<std::string>{"unix:/a", "unix:/b"}));
  EXPECT_EQ(options->config.worker.index(), 3);
  EXPECT_EQ(options->config.ranks, 4);
  EXPECT_EQ(options->config.worker.job(), "gpt");
  EXPECT_EQ(options->config.host, "127.0.0.1");
  EXPECT_TRUE(options->coordinator.identity.empty());
}

TEST(WorkerFlagsTest, EveryFlagDefaultsToItsVariable) {
  const char* const argv[] = {"muster-agent", "worker"};
  const auto flags = ParseWorkerFlags(2, argv, [](const std::string& name) { return name; });
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->size(), WorkerFlags().size());
  for (const WorkerFlag& flag : WorkerFlags()) EXPECT_EQ(flags->at(flag.name), flag.variable);
}

TEST(WorkerFlagsTest, APodOnAClusterProvesItself) {
  const auto options = Parse({"worker"}, {{"MUSTER_COORDINATOR", "10.0.0.1:7443,10.0.0.2:7443"},
                                          {"MUSTER_COORDINATOR_CA", "pem"},
                                          {"MUSTER_COORDINATOR_TOKEN", "/var/run/token"},
                                          {"MUSTER_COORDINATOR_SILENCE", "2s"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->coordinator.identity.authority_pem, "pem");
  EXPECT_EQ(options->coordinator.identity.token_path, "/var/run/token");
  EXPECT_EQ(options->coordinator.silence, absl::Seconds(2));
}

TEST(WorkerFlagsTest, ThePodsGraceBoundsTheLastSave) {
  const auto config = [](const char* grace) {
    return Parse({"worker", "--coordinator=unix:/a"}, {{"MUSTER_POD_GRACE", grace}})->config;
  };
  EXPECT_EQ(config("").signal_save_deadline, absl::Seconds(15));
  EXPECT_EQ(config("").command_grace, absl::Seconds(5));
  EXPECT_EQ(config("30s").signal_save_deadline, absl::Seconds(15));
  EXPECT_EQ(config("30s").command_grace, absl::Seconds(25));
  EXPECT_EQ(config("3m").signal_save_deadline, absl::Seconds(165));
  EXPECT_EQ(config("4s").signal_save_deadline, absl::Seconds(2)) << "never more than there is";
  EXPECT_EQ(config("4s").command_grace, absl::Seconds(2));
}

TEST(WorkerFlagsTest, SaysWhatIsWrong) {
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_EQ(message(Parse({})), "the first argument must be worker");
  EXPECT_EQ(message(Parse({"worker"})), "--coordinator is missing");
  EXPECT_EQ(message(Parse({"worker", "--cordinator=x"})), "--cordinator=x: no such flag");
  EXPECT_EQ(message(Parse({"worker", "job"})), "job: wants --NAME=VALUE");
  EXPECT_EQ(message(Parse({"worker", "--coordinator=a:1", "--ranks=two"})),
            "--ranks=two: wants a number from 0");
  EXPECT_EQ(message(Parse({"worker", "--coordinator=a:1", "--orphan-deadline=60"})),
            "--orphan-deadline=60: wants a duration, as in 60s");
  EXPECT_EQ(message(Parse({"worker", "--coordinator=a:1", "--pod-grace=30"})),
            "--pod-grace=30: wants a duration, as in 60s");
  EXPECT_EQ(message(Parse({"worker", "--coordinator=a:1", "--coordinator-ca=x"})),
            "a coordinator on another host needs --coordinator-ca and --coordinator-token");
  EXPECT_EQ(message(Parse({"worker", "--coordinator=a:1,unix:/b"})),
            "--coordinator: wants unix sockets or addresses of hosts, not both");
}

}  // namespace
}  // namespace muster::agent
