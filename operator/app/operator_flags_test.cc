#include "operator/app/operator_flags.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

absl::StatusOr<OperatorFlags> Parse(const std::vector<std::string>& args,
                                    std::map<std::string, std::string> environment = {}) {
  return ParseOperatorFlags(args, [environment](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  });
}

std::string ErrorOf(const std::vector<std::string>& args) {
  const auto flags = Parse(args);
  EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(flags.status().message());
}

TEST(OperatorFlagsTest, InAPodNoFlagIsNeeded) {
  const auto flags = Parse({}, {{"POD_IP", "10.1.2.3"}, {"POD_NAMESPACE", "ml"}});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->state_dir, "");
  EXPECT_THAT(flags->kubeconfig, IsEmpty());
  EXPECT_TRUE(flags->leader_elect);
  EXPECT_EQ(flags->lease_duration, absl::Seconds(15));
  EXPECT_EQ(flags->renew_deadline, absl::Seconds(10));
  EXPECT_EQ(flags->retry_period, absl::Seconds(2));
  EXPECT_EQ(flags->lease_namespace, "ml");
  EXPECT_THAT(flags->coordinator, ElementsAre("0.0.0.0:7443"));
  EXPECT_EQ(flags->advertise, "10.1.2.3:7443");
  EXPECT_EQ(flags->http, "0.0.0.0:8443");
  EXPECT_EQ(flags->probes, "0.0.0.0:8081");
  EXPECT_EQ(flags->qps, 500);
  EXPECT_EQ(flags->burst, 1000);
}

TEST(OperatorFlagsTest, TopologyLevelsAreLabelKeysFromBroadToNarrow) {
  EXPECT_THAT(Parse({})->topology_levels, IsEmpty());
  EXPECT_THAT(Parse({"--topology-levels=example.com/row,example.com/rack"})->topology_levels,
              ElementsAre("example.com/row", "example.com/rack"));
  EXPECT_EQ(Parse({})->binders, 16);
  EXPECT_THAT(ErrorOf({"--binders=0"}), testing::HasSubstr("--binders=0: wants a whole number"));
}

TEST(OperatorFlagsTest, TheDeadlinesOfARoundCanBeSet) {
  EXPECT_EQ(Parse({})->prepare_deadline, absl::Seconds(60));
  EXPECT_EQ(Parse({})->join_deadline, absl::Minutes(10));
  const auto flags = Parse({"--prepare-deadline=3m", "--join-deadline=1h"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->prepare_deadline, absl::Minutes(3));
  EXPECT_EQ(flags->join_deadline, absl::Hours(1));
  EXPECT_THAT(ErrorOf({"--join-deadline=0s"}), testing::HasSubstr("wants a duration above zero"));
}

TEST(OperatorFlagsTest, LinksAreBandwidthAndLatencyByLevel) {
  const auto flags = Parse({"--topology-links=leaf:50:5,example.com/rack:12.5"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->topology_links.at("leaf").gigabytes_per_second, 50);
  EXPECT_EQ(flags->topology_links.at("leaf").latency_us, 5);
  EXPECT_EQ(flags->topology_links.at("example.com/rack").gigabytes_per_second, 12.5);
  for (const char* bad : {"", "leaf", "leaf:0", "leaf:-1", "leaf:nan", "leaf:inf", ":5",
                          "leaf:5:-1", "leaf:5:5:5", "leaf:5,leaf:6"}) {
    EXPECT_FALSE(Parse({absl::StrCat("--topology-links=", bad)}).ok()) << bad;
  }
}

TEST(OperatorFlagsTest, OptionsOfTheQueuesCanBeSet) {
  EXPECT_EQ(Parse({})->queue_half_life, absl::Hours(24));
  EXPECT_EQ(Parse({"--queue-half-life=1h"})->queue_half_life, absl::Hours(1));
  EXPECT_EQ(Parse({})->max_savers_per_storage, 0);
  EXPECT_EQ(Parse({"--max-savers-per-storage=4"})->max_savers_per_storage, 4);
  EXPECT_EQ(ErrorOf({"--max-savers-per-storage=-1"}),
            "--max-savers-per-storage=-1: wants a whole number; 0 is no limit");
  EXPECT_EQ(Parse({"--queue-aging=10s"})->queue_aging, absl::Seconds(10));
  EXPECT_FALSE(Parse({})->defragment);
  EXPECT_TRUE(Parse({"--defragment=true"})->defragment);
}

TEST(OperatorFlagsTest, DecisionsAreKeptInTheStateDirectoryUnlessToldOtherwise) {
  EXPECT_EQ(Parse({})->decision_log_dir, "");
  EXPECT_EQ(Parse({"--decision-log-dir=/d"})->decision_log_dir, "/d");
  EXPECT_EQ(Parse({"--state-dir=/s"})->decision_log_dir, "/s/decisions");
  EXPECT_EQ(Parse({"--state-dir=/s", "--decision-log-dir="})->decision_log_dir, "");
}

TEST(OperatorFlagsTest, KubeconfigComesFromTheFlagThenTheEnvironment) {
  const std::map<std::string, std::string> environment = {{"KUBECONFIG", "/a:/b"}};
  EXPECT_THAT(Parse({}, environment)->kubeconfig, ElementsAre("/a", "/b"));
  EXPECT_THAT(Parse({"--kubeconfig=/c"}, environment)->kubeconfig, ElementsAre("/c"));
  EXPECT_THAT(Parse({"--state-dir=/s"}, environment)->kubeconfig, IsEmpty());
}

TEST(OperatorFlagsTest, AStateDirectoryMeansOneOperatorOnThisMachine) {
  const auto flags = Parse({"--state-dir=/state"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_FALSE(flags->leader_elect);
  EXPECT_THAT(flags->coordinator, ElementsAre("unix:/state/run/coordinator.sock"));
  EXPECT_EQ(flags->http, "unix:/state/run/http.sock");
  EXPECT_EQ(flags->probes, "");
  EXPECT_TRUE(Parse({"--state-dir=/state", "--leader-elect"})->leader_elect);
}

TEST(OperatorFlagsTest, EveryFlagIsTaken) {
  const auto flags = Parse({"--kubeconfig=/k",
                            "--context=c",
                            "--qps=10.5",
                            "--burst=7",
                            "--namespace=n",
                            "--leader-elect=false",
                            "--lease-duration=4s",
                            "--renew-deadline=2s",
                            "--retry-period=500ms",
                            "--lease-namespace=l",
                            "--identity=me",
                            "--coordinator=1.2.3.4:1,unix:/s",
                            "--advertise=host:1",
                            "--pod-coordinator=svc:1",
                            "--http=",
                            "--http-cert-file=/c.pem",
                            "--http-key-file=/k.pem",
                            "--probes=127.0.0.1:0",
                            "--worker-image=i",
                            "--agent-image=a",
                            "--workers=4",
                            "--log-format=json"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->context, "c");
  EXPECT_EQ(flags->qps, 10.5);
  EXPECT_EQ(flags->burst, 7);
  EXPECT_EQ(flags->name_space, "n");
  EXPECT_FALSE(flags->leader_elect);
  EXPECT_EQ(flags->lease_duration, absl::Seconds(4));
  EXPECT_EQ(flags->renew_deadline, absl::Seconds(2));
  EXPECT_EQ(flags->retry_period, absl::Milliseconds(500));
  EXPECT_EQ(flags->lease_namespace, "l");
  EXPECT_EQ(flags->identity, "me");
  EXPECT_THAT(flags->coordinator, ElementsAre("1.2.3.4:1", "unix:/s"));
  EXPECT_EQ(flags->advertise, "host:1");
  EXPECT_EQ(flags->pod_coordinator, "svc:1");
  EXPECT_EQ(flags->http, "");
  EXPECT_EQ(flags->http_certificate, "/c.pem");
  EXPECT_EQ(flags->http_key, "/k.pem");
  EXPECT_EQ(flags->probes, "127.0.0.1:0");
  EXPECT_EQ(flags->worker_image, "i");
  EXPECT_EQ(flags->agent_image, "a");
  EXPECT_EQ(flags->workers, 4);
  EXPECT_TRUE(flags->log_json);
}

TEST(OperatorFlagsTest, ImagesAndVariablesOfWorkersCanBeSet) {
  const auto flags = Parse({"--worker-image-pull-policy=Always", "--agent-image-pull-policy=Never",
                            "--image-pull-secrets=a,b", "--worker-env=NCCL_IB_HCA=mlx5_0,mlx5_1",
                            "--worker-env=NCCL_DEBUG=INFO", "--worker-env=NCCL_DEBUG=",
                            "--job-network-policies=true", "--taint-unhealthy-nodes=true"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->worker_pull_policy, "Always");
  EXPECT_EQ(flags->agent_pull_policy, "Never");
  EXPECT_THAT(flags->pull_secrets, ElementsAre("a", "b"));
  EXPECT_THAT(flags->worker_env, ElementsAre(testing::Pair("NCCL_IB_HCA", "mlx5_0,mlx5_1"),
                                             testing::Pair("NCCL_DEBUG", "")));
  EXPECT_TRUE(flags->job_network_policies);
  EXPECT_TRUE(flags->taint_unhealthy_nodes);
  EXPECT_FALSE(Parse({})->taint_unhealthy_nodes);
  EXPECT_FALSE(Parse({})->job_network_policies);
  EXPECT_EQ(ErrorOf({"--worker-image-pull-policy=always", "--worker-env=DEBUG", "--worker-env=1=2",
                     "--worker-env=MUSTER_JOB=x"}),
            "--worker-image-pull-policy=always: wants Always, IfNotPresent or Never\n"
            "--worker-env=DEBUG: wants NAME=VALUE, as NCCL_SOCKET_IFNAME=eth0\n"
            "--worker-env=1=2: wants NAME=VALUE, as NCCL_SOCKET_IFNAME=eth0\n"
            "--worker-env=MUSTER_JOB=x: is one of the variables that muster sets");
}

// Regression: workers were told to dial "$(MUSTER_OPERATOR_SERVICE_HOST):7443".
TEST(OperatorFlagsTest, AVariableThatTheKubeletCouldNotExpandIsRefused) {
  EXPECT_EQ(ErrorOf({"--pod-coordinator=$(MUSTER_OPERATOR_SERVICE_HOST):7443"}),
            "--pod-coordinator=$(MUSTER_OPERATOR_SERVICE_HOST):7443: has a variable that is not "
            "set in this pod: a Service's is set if the Service was there before the pod and "
            "enableServiceLinks is true");
  EXPECT_THAT(ErrorOf({"--advertise=$(POD_IP):7443"}), testing::HasSubstr("has a variable"));
}

TEST(OperatorFlagsTest, EveryBadFlagIsNamedAtOnce) {
  EXPECT_EQ(ErrorOf({"run", "--qps=fast", "--burst=0", "--lease-duration=15", "--leader-elect=si",
                     "--log-format=xml", "--colour=red", "--namespace", "--coordinator="}),
            "run: flags are --NAME=VALUE\n"
            "--qps=fast: wants a number above zero\n"
            "--burst=0: wants a whole number above zero\n"
            "--lease-duration=15: wants a duration above zero, as 15s\n"
            "--leader-elect=si: wants true or false\n"
            "--log-format=xml: wants text or json\n"
            "--colour: no such flag\n"
            "--namespace: wants --namespace=VALUE\n"
            "--coordinator=: is empty");
}

TEST(OperatorFlagsTest, ConflictingFlagsAreNamed) {
  EXPECT_EQ(ErrorOf({"--state-dir=state", "--kubeconfig=/k"}),
            "--state-dir=state: wants an absolute path\n"
            "--kubeconfig: is for a real API server, not --state-dir");
  EXPECT_EQ(ErrorOf({"--http-cert-file=/c.pem"}),
            "--http-cert-file: goes with --http-key-file; give both");
  EXPECT_EQ(ErrorOf({"--state-dir=/s", "--http-cert-file=/c", "--http-key-file=/k"}),
            "--http-cert-file: is for a cluster; --state-dir serves no TLS\n"
            "--http-key-file: is for a cluster; --state-dir serves no TLS");
  EXPECT_EQ(ErrorOf({"--lease-duration=5s"}),
            "--renew-deadline: must be shorter than --lease-duration");
  EXPECT_EQ(ErrorOf({"--retry-period=10s"}),
            "--retry-period: must be shorter than --renew-deadline");
  EXPECT_EQ(ErrorOf({"--lease-duration=15500ms"}),
            "--lease-duration: a Lease counts whole seconds");
}

}  // namespace
}  // namespace muster::control
