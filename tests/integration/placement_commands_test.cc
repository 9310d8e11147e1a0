// `muster explain`, `whatif`, `tree` and `simulate` as a user runs them: the binary, beside a
// running operator over the embedded API.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/conditions.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/operator_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Said {
  int code = -1;
  std::string out;
  std::string error;
};

// Workers of 8 GPUs, as many as a node has; `more` are fields of the spec.
std::string Manifest(const std::string& name, int workers, const std::string& topology,
                     const std::string& more = "") {
  return absl::StrCat(R"({"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"namespace": "default", "name": ")",
                      name, R"("}, "spec": {)", more, R"("workers": {"count": )", workers,
                      R"(, "gpus": 8},
      "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
                  "train": {"steps": 100, "globalBatch": 64, "microBatch": 1, "sequence": 64}},
      "topology": )",
                      topology,
                      R"(, "template": {"spec": {"containers": [{"name": "worker"}]}}}})");
}

class PlacementCommandsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/commands";
    ASSERT_TRUE(FileSystem().MakeDirectories(folder_).ok());
    for (int i = 0; i < 4; ++i) AddNode(i);
    world_.StartOperator();
    server_ = "http://" + world_.app->http_address();
  }

  // Two leaves of two nodes with 8 GPUs each under one spine.
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
    EXPECT_EQ(poll(&ended, 1, 20'000), 1) << "muster has not ended";
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

  // Waits until the job's verdict is this.
  bool IsTold(const std::string& name, const std::string& reason) {
    return world_.Until([&] {
      const auto job = world_.memory->Get(kube::kTrainingJobs, {"default", name});
      return job.ok() && kube::StringAt(*job, {"status", "placement", "reason"}) == reason;
    });
  }

  OperatorWorld world_;
  std::string folder_;
  std::string server_;
};

TEST_F(PlacementCommandsTest, TreeDrawsWhatIsFree) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  const Said all = Muster({"tree", "--server", server_});
  EXPECT_EQ(all.code, kExitOk);
  EXPECT_EQ(all.out,
            "cluster  4 nodes  16 of 32 GPUs free  256 of 256 CPUs free\n"
            "  spine s0  4 nodes  16 of 32 GPUs free  256 of 256 CPUs free\n"
            "    leaf l0  2 nodes  0 of 16 GPUs free  128 of 128 CPUs free\n"
            "      host n0  0 of 8 GPUs free  64 of 64 CPUs free\n"
            "      host n1  0 of 8 GPUs free  64 of 64 CPUs free\n"
            "    leaf l1  2 nodes  16 of 16 GPUs free  128 of 128 CPUs free\n"
            "      host n2  8 of 8 GPUs free  64 of 64 CPUs free\n"
            "      host n3  8 of 8 GPUs free  64 of 64 CPUs free\n");
  const Said top = Muster({"tree", "--depth=1", "--server", server_ + "/"});
  EXPECT_EQ(top.out,
            "cluster  4 nodes  16 of 32 GPUs free  256 of 256 CPUs free\n"
            "  spine s0  4 nodes  16 of 32 GPUs free  256 of 256 CPUs free\n");
  const auto json = ParseJson(Muster({"tree", "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["children"][0]["children"][1]["free"]["gpus"], 16);
  EXPECT_EQ(Muster({"tree", "--svg", folder_ + "/tree.svg", "--server", server_}).code, kExitOk);
  const std::string svg = ReadFile(FileSystem(), folder_ + "/tree.svg").value_or("");
  EXPECT_THAT(svg, StartsWith("<svg"));
  EXPECT_THAT(svg, HasSubstr("l0</tspan> 0 of 16 GPUs free"));
  const Said wrong = Muster({"tree", "--depth=all", "--server", server_});
  EXPECT_EQ(wrong.code, kExitBadInput);
  EXPECT_EQ(wrong.error, "muster: --depth needs a whole number, not 'all'\n");
}

TEST_F(PlacementCommandsTest, TreeOnlyCountsTheHostsOfALargeCluster) {
  for (int i = 4; i < 132; ++i) AddNode(i);
  Submit("gpt", 1, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Said all;
  ASSERT_TRUE(world_.Until([&] {
    all = Muster({"tree", "--server", server_});
    return all.out.find("cluster  132 nodes, 131 unused  1048 of 1056 GPUs free") == 0;
  })) << all.out;
  EXPECT_THAT(all.out, HasSubstr("\n    leaf l65  2 nodes, 2 unused  16 of 16 GPUs free"));
  EXPECT_THAT(all.out, HasSubstr("\n    leaf l0  2 nodes, 1 unused  8 of 16 GPUs free"));
  EXPECT_THAT(all.out, testing::Not(HasSubstr("host ")));
  EXPECT_THAT(Muster({"tree", "--depth=9", "--server", server_}).out,
              HasSubstr("\n      host n131  8 of 8 GPUs free"));
}

TEST_F(PlacementCommandsTest, WhatCannotBeIsToldAsEvents) {
  Json stray = kube::NewObject(kube::kNodes, {"", "stray"});
  stray["metadata"]["labels"] = {{"network.topology.nvidia.com/leaf", "l0"},
                                 {"network.topology.nvidia.com/spine", "s9"}};
  ASSERT_TRUE(world_.memory->Create(kube::kNodes, stray).ok());
  Json urgent = kube::NewObject(kube::kPriorityClasses, {"", "urgent"});
  urgent["value"] = 1000;
  ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, urgent).ok());
  Submit("typo", 8, "{}", R"("priorityClassName": "ugrent", )");
  ASSERT_TRUE(IsTold("typo", "Insufficient"));
  const auto find = [&](const std::string& reason) {
    Json found;
    world_.Until([&] {
      const auto events = world_.memory->List(kube::kEvents, {});
      for (const Json& event : events.ok() ? events->items : std::vector<Json>()) {
        if (event["reason"] == reason) found = event;
      }
      return !found.is_null();
    });
    return found;
  };
  const Json node = find("TopologyContradiction");
  ASSERT_FALSE(node.is_null());
  EXPECT_EQ(node["involvedObject"]["name"], "stray");
  EXPECT_EQ(node["metadata"]["namespace"], "default");
  const Json job = find("NoSuchPriorityClass");
  ASSERT_FALSE(job.is_null());
  const std::string sentence =
      "priorityClassName \"ugrent\" does not exist; the default priority 0 is used";
  EXPECT_EQ(job["message"], sentence);
  EXPECT_EQ(job["involvedObject"]["name"], "typo");
  const Said said = Muster({"explain", "typo", "--server", server_});
  EXPECT_THAT(said.out, HasSubstr("; " + sentence + "\n")) << "after why it waits";
  const std::string thought =
      Write("thought.json", Manifest("next", 1, "{}", R"("priorityClassName": "ugrent", )"));
  EXPECT_THAT(Muster({"whatif", "-f", thought, "--server", server_}).out,
              HasSubstr("\n  warning: " + sentence + "\n"));
  const auto stored = world_.memory->Get(kube::kTrainingJobs, {"default", "typo"});
  ASSERT_TRUE(stored.ok());
  EXPECT_THAT(DumpJson((*stored)["status"]["conditions"]), HasSubstr("does not exist"));
}

TEST_F(PlacementCommandsTest, QueueTellsTheOrderTheShareAndWhy) {
  Json queue = kube::NewObject(kube::kTrainingQueues, {"", "default"});
  queue["spec"] = {{"quotas", {{{"resource", "nvidia.com/gpu"}, {"nominal", "16"}}}}};
  const auto made = world_.memory->Create(kube::kTrainingQueues, queue);
  ASSERT_TRUE(made.ok()) << made.status();
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("wide", "ExceedsQuota"));
  const Said all = Muster({"queue", "--server", server_});
  EXPECT_EQ(all.code, kExitOk);
  EXPECT_THAT(all.out, testing::StartsWith("default: 1 running, 1 waiting, share 0.25\n"));
  EXPECT_THAT(all.out, HasSubstr("16 nvidia.com/gpu of 16 nvidia.com/gpu nominal\n"));
  EXPECT_THAT(all.out, HasSubstr("    1. default/wide"));
  EXPECT_THAT(all.out, HasSubstr("ExceedsQuota: 24 nvidia.com/gpu needed; queue \"default\" may "
                                 "never use more than 16\n"));
  const auto json = ParseJson(Muster({"queue", "default", "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["items"][0]["jobs"][0]["job"], "default/wide");
  const Said unknown = Muster({"queue", "typo", "--server", server_});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_THAT(unknown.error, HasSubstr("there is no queue typo\n"));
}

TEST_F(PlacementCommandsTest, ExplainSaysWhereOrWhyNowhere) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("wide", "Insufficient"));
  const Said placed = Muster({"explain", "gpt", "--server", server_});
  EXPECT_EQ(placed.code, kExitOk);
  EXPECT_EQ(placed.out,
            "default/gpt: 2 workers in one leaf\n"
            "  score 1, all within leaf s0/l0\n"
            "  worker 0    s0/l0/n0\n"
            "  worker 1    s0/l0/n1\n");
  const Said waits = Muster({"explain", "wide", "--server", server_});
  EXPECT_EQ(waits.code, kExitOk);
  EXPECT_EQ(waits.out,
            "default/wide: 3 workers in one leaf\n"
            "  Insufficient: room for 2 of at least 3 workers; fits now with workers.count <= 2\n"
            "  does not start on this cluster as it is: there would be no room if every job ended\n"
            "  fits now as it is: 2 of 3\n"
            "  without topology.require: 2\n"
            "  worker 0    -\n"
            "  worker 1    -\n"
            "  worker 2    -\n");
  const auto json = ParseJson(Muster({"explain", "wide", "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["job"], "default/wide");
  EXPECT_EQ((*json)["reason"], "Insufficient");
  EXPECT_EQ((*json)["fitsNow"], 2);
}

TEST_F(PlacementCommandsTest, ExplainSaysWhenAJobStarts) {
  Submit("gpt", 2, R"({"require": "leaf"})", R"("activeDeadline": "40m", )");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Submit("bert", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("bert", "Placed"));
  Submit("next", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("next", "NoNodeBigEnough"));
  EXPECT_THAT(Muster({"explain", "next", "--server", server_}).out,
              HasSubstr("\n  starts in about 40 min, when default/gpt ends\n"));
  auto json = ParseJson(Muster({"explain", "next", "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  const Json start = (*json)["start"];
  EXPECT_EQ(start["kind"], "At");
  EXPECT_NEAR(start["inSeconds"].get<double>(), 2400, 60);
  ASSERT_EQ(start["awaited"].size(), 1u);
  EXPECT_EQ(start["awaited"][0]["job"], "default/gpt");
  EXPECT_EQ(start["awaited"][0]["ends"], start["at"]);
  // The one that said no end has reported steps by now.
  auto bert = world_.memory->Get(kube::kTrainingJobs, {"default", "bert"});
  ASSERT_TRUE(bert.ok()) << bert.status();
  (*bert)["status"]["progress"] = {{"step", 50}, {"eta", "10m"}, {"time", FormatWall(absl::Now())}};
  ASSERT_TRUE(world_.memory->UpdateStatus(kube::kTrainingJobs, *bert).ok());
  const bool told = world_.Until([&] {
    return Muster({"explain", "next", "--server", server_})
               .out.find("\n  starts in about 10 min, when default/bert ends\n") !=
           std::string::npos;
  });
  EXPECT_TRUE(told) << Muster({"explain", "next", "--server", server_}).out;
  EXPECT_FALSE(
      ParseJson(Muster({"explain", "gpt", "--json", "--server", server_}).out)->contains("start"));
}

TEST_F(PlacementCommandsTest, WhatIfSaysWhoWouldMakeRoom) {
  Json urgent = kube::NewObject(kube::kPriorityClasses, {"", "urgent"});
  urgent["value"] = 1000;
  ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, urgent).ok());
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Submit("wide", 2, R"({"require": "leaf"})", R"("activeDeadline": "1h", )");
  ASSERT_TRUE(IsTold("wide", "Placed"));
  const std::string waits = Write("waits.json", Manifest("next", 1, "{}"));
  EXPECT_THAT(Muster({"whatif", "-f", waits, "--server", server_}).out,
              HasSubstr("\n  starts in about 60 min, when default/wide ends\n"));
  const std::string manifest = Write("urgent.json", Manifest("next", 4, R"({"require": "spine"})",
                                                             R"("priorityClassName": "urgent", )"));
  Said said;
  // The class reaches the operator's cache when it does.
  ASSERT_TRUE(world_.Until([&] {
    said = Muster({"whatif", "-f", manifest, "--server", server_});
    return said.out.find("WaitingForVictims") != std::string::npos;
  })) << said.out
      << said.error;
  EXPECT_THAT(said.out, HasSubstr("\n  starts in about 1 min, when default/gpt and default/wide "
                                  "have made room\n"));
  EXPECT_THAT(said.out,
              HasSubstr("GPU-seconds lost: priority 0 is below 1000; without it there are nodes "
                        "for 2 of 4 workers\n"));
  EXPECT_THAT(said.out, HasSubstr("  score 1, all within spine s0\n"));
  EXPECT_THAT(said.out, HasSubstr("  worker 3    n3\n"));
  const auto json =
      ParseJson(Muster({"whatif", "-f", manifest, "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  ASSERT_EQ((*json)["victims"].size(), 2u);
  const Json& victim = (*json)["victims"][0];
  EXPECT_EQ(victim["action"], "Stop");
  EXPECT_EQ(victim["reason"], "Priority");
  EXPECT_EQ(victim["workers"], 2);
  EXPECT_EQ(victim["keeps"], 0);
  EXPECT_GE(victim["gpuSecondsLost"].get<double>(), 16 * 120.0);
  // Nobody was told anything.
  for (const char* job : {"gpt", "wide"}) {
    const auto stored = world_.memory->Get(kube::kTrainingJobs, {"default", job});
    ASSERT_TRUE(stored.ok());
    EXPECT_FALSE((*stored)["status"].contains("preemption")) << job;
  }
}

TEST_F(PlacementCommandsTest, ExplainSaysWhatIsWrongWithTheQuestion) {
  const Said unknown = Muster({"explain", "nobody", "--server", server_});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_EQ(unknown.error,
            "muster: the operator answered 404 to GET /api/v1/jobs/default/nobody/placement: "
            "there is no job default/nobody\n");
  EXPECT_EQ(Muster({"explain", "nobody", "--namespace=lab", "--server", server_}).error,
            "muster: the operator answered 404 to GET /api/v1/jobs/lab/nobody/placement: "
            "there is no job lab/nobody\n");
  Submit("gpt-large", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt-large", "Placed"));
  EXPECT_THAT(Muster({"explain", "gtp-large", "--server", server_}).error,
              HasSubstr("there is no job default/gtp-large; did you mean gpt-large?\n"));
  const Said nameless = Muster({"explain", "--server", server_});
  EXPECT_EQ(nameless.code, kExitBadInput);
  EXPECT_EQ(nameless.error, "muster: which job? muster explain JOB\n");
  const Said secure = Muster({"explain", "gpt", "--server", "https://operator"});
  EXPECT_EQ(secure.code, kExitBadInput);
  EXPECT_EQ(secure.error, "muster: --server: the operator speaks HTTP; forward its port\n");
  // On this machine there is neither a job nor an operator.
  const Said nowhere = Muster({"explain", "gpt", "--state-dir", folder_ + "/state"});
  EXPECT_EQ(nowhere.code, kExitBadInput);
  EXPECT_THAT(nowhere.error, HasSubstr("there is no job 'gpt'"));
  world_.StopOperator();
  const Said gone = Muster({"explain", "gpt", "--server", server_});
  EXPECT_EQ(gone.code, kExitFailed);
  EXPECT_EQ(gone.error, absl::StrCat("muster: the operator at ", server_.substr(7),
                                     " does not answer: no connection\n"));
}

TEST_F(PlacementCommandsTest, WhatIfSaysWhereAJobWouldGoAndChangesNothing) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  const std::string fits = Write("fits.json", Manifest("next", 2, R"({"prefer": "leaf"})"));
  const Said placed = Muster({"whatif", "-f", fits, "--server", server_});
  EXPECT_EQ(placed.code, kExitOk);
  EXPECT_EQ(placed.out,
            "default/next: 2 workers\n"
            "  score 1, all within leaf s0/l1\n"
            "  worker 0    n2\n"
            "  worker 1    n3\n");
  EXPECT_EQ(Muster({"whatif", "-f", fits, "--server", server_}).out, placed.out);
  EXPECT_FALSE(world_.memory->Get(kube::kTrainingJobs, {"default", "next"}).ok());

  const std::string wide = Write("wide.json", Manifest("next", 3, R"({"require": "spine"})"));
  const Said waits = Muster({"whatif", "-f", wide, "--server", server_});
  EXPECT_EQ(waits.code, kExitOk);
  EXPECT_EQ(waits.out,
            "default/next: 3 workers in one spine\n"
            "  Insufficient: room for 2 of at least 3 workers; fits now with workers.count <= 2\n"
            "  starts at a time that nobody knows: no running job says when it ends\n"
            "  fits now as it is: 2 of 3\n"
            "  without topology.require: 2\n");
  const std::string rack = Write("rack.json", Manifest("next", 1, R"({"require": "rack"})"));
  EXPECT_THAT(Muster({"whatif", "-f", rack, "--server", server_}).out,
              HasSubstr("default/next: 1 worker in one rack\n  InvalidRequest: there is no "
                        "topology level \"rack\"; known: spine, leaf, host\n"));
  const auto json = ParseJson(Muster({"whatif", "-f", fits, "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["workers"][1]["node"], "n3");
}

TEST_F(PlacementCommandsTest, WhatIfSaysWhatIsWrongWithTheManifest) {
  const Said none = Muster({"whatif", "--server", server_});
  EXPECT_EQ(none.code, kExitBadInput);
  EXPECT_EQ(none.error, "muster: which manifest? muster whatif -f FILE\n");
  const Said missing = Muster({"whatif", "-f", "missing.yaml", "--server", server_});
  EXPECT_EQ(missing.code, kExitBadInput);
  EXPECT_EQ(missing.error, "muster: missing.yaml: cannot open: No such file or directory\n");
  const Said bad =
      Muster({"whatif", "-f", Write("b", Manifest("n", 0, "{}")), "--server", server_});
  EXPECT_EQ(bad.code, kExitBadInput);
  EXPECT_THAT(bad.error, HasSubstr("spec.workers.count"));
}

constexpr char kCluster[] = R"(
levels: [rack]
pools:
- {name: h100, nodes: 4, gpus: 8, perDomain: [2]}
queues:
- {name: a, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
- {name: b, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
options: {stop: 10s, restart: 20s}
)";
constexpr char kTrace[] =
    "name,submit,duration,workers,gpus,queue\n"
    "borrower,0,100,4,8,a\n"
    "owner,40,30,2,8,b\n";

TEST_F(PlacementCommandsTest, ReplayDecidesAgainWhatWasDecided) {
  const std::string cluster = Write("cluster.yaml", kCluster), trace = Write("trace.csv", kTrace);
  const std::string ring = folder_ + "/decisions-of-replay";
  ASSERT_TRUE(RemoveAll(FileSystem(), ring).ok());
  ASSERT_EQ(Muster({"simulate", "--cluster", cluster, "--trace", trace, "--record", ring}).code,
            kExitOk);
  const Said all = Muster({"replay", "--dir", ring});
  EXPECT_EQ(all.code, kExitOk) << all.error;
  EXPECT_EQ(all.out,
            "       1  1970-01-01T00:00:00.000Z    1 decided\n"
            "       2  1970-01-01T00:00:40.000Z    2 decided\n"
            "       3  1970-01-01T00:00:50.000Z    2 decided\n"
            "       4  1970-01-01T00:01:20.000Z    1 decided\n"
            "4 decisions, 0 of them replay otherwise\n");
  const Said one = Muster({"replay", "2", "--dir", ring});
  EXPECT_EQ(one.code, kExitOk) << one.error;
  EXPECT_EQ(
      one.out,
      "decision 2 of 1970-01-01T00:00:40.000Z: 4 nodes, 2 jobs, 3 queues\n"
      "  Stop   default/borrower  Reclaimed: stops for owner#0000001, which takes back its queue's "
      "nominal quota; all that go lose 1920 GPU-seconds, at least 1920 are lost in any case\n"
      "  Wait   default/owner  WaitingForVictims: jobs that make room for it have not gone yet; by "
      "10s from now, if running jobs end as they say\n"
      "replayed: the same, byte for byte\n");
  const auto json = ParseJson(Muster({"replay", "3", "--json", "--dir", ring}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["same"], true);
  EXPECT_EQ((*json)["replayed"][0]["job"], "default/owner");
  const Said unknown = Muster({"replay", "5", "--dir", ring});
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_EQ(unknown.error,
            absl::StrCat("muster: there is no decision 5 in ", ring, "; it has 1 to 4\n"));
  EXPECT_EQ(Muster({"replay", "last", "--dir", ring}).error,
            "muster: a decision is a number, not 'last'\n");
}

TEST_F(PlacementCommandsTest, ExplainNamesTheDecisionThatReplayDecidesAgain) {
  world_.StopOperator();
  world_.decision_log_dir = folder_ + "/decisions-of-operator";
  ASSERT_TRUE(RemoveAll(FileSystem(), world_.decision_log_dir).ok());
  world_.StartOperator();
  server_ = "http://" + world_.app->http_address();
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(IsTold("wide", "Insufficient"));
  for (const char* job : {"gpt", "wide"}) {
    const auto json = ParseJson(Muster({"explain", job, "--json", "--server", server_}).out);
    ASSERT_TRUE(json.ok()) << json.status();
    ASSERT_TRUE(json->contains("decision")) << job;
    const std::string id = absl::StrCat((*json)["decision"].get<int64_t>());
    EXPECT_THAT(Muster({"explain", job, "--server", server_}).out,
                HasSubstr(absl::StrCat("  decided in ", id, ": muster replay ", id, "\n")));
    Said said;
    const bool written = world_.Until([&] {
      said = Muster({"replay", id, "--dir", world_.decision_log_dir});
      return said.code == kExitOk;
    });
    EXPECT_TRUE(written) << said.error << said.out;
    EXPECT_THAT(said.out, HasSubstr(absl::StrCat("default/", job)));
    EXPECT_THAT(said.out, HasSubstr("replayed: the same, byte for byte\n"));
  }
  EXPECT_EQ(Muster({"replay", "--dir", world_.decision_log_dir}).code, kExitOk);
}

TEST_F(PlacementCommandsTest, SimulatePrintsItsReportDecisionsAndPicture) {
  const std::string cluster = Write("cluster.yaml", kCluster), trace = Write("trace.csv", kTrace);
  const Said said = Muster({"simulate", "--cluster", cluster, "--trace", trace, "--decisions",
                            folder_ + "/decisions", "--svg", folder_ + "/day.svg"});
  EXPECT_EQ(said.code, kExitOk) << said.error;
  EXPECT_THAT(said.out, StartsWith("jobs           2 submitted, 2 finished, 0 never started\n"
                                   "makespan       160.0 s\n"
                                   "utilisation    90.6 % of 32 nvidia.com/gpu\n"
                                   "fragmentation  0.0 % of what is free, while jobs wait\n"
                                   "fairness       1.000 (Jain)\n"
                                   "preemptions    1 stopped, 0 shrunk, 0 grown back\n"
                                   "back-filled    0\n"));
  EXPECT_EQ(
      ReadFile(FileSystem(), folder_ + "/decisions").value_or(""),
      "0.000 Start borrower#0000000 Borrowing: starts with 4 workers; queue \"a\" borrows for "
      "it\n"
      "40.000 Stop borrower#0000000 Reclaimed: stops for owner#0000001, which takes back its "
      "queue's nominal quota; all that go lose 1920 GPU-seconds, at least 1920 are lost in "
      "any case\n"
      "40.000 Wait owner#0000001 WaitingForVictims: jobs that make room for it have not gone "
      "yet; by 10s from now, if running jobs end as they say\n"
      "50.000 Start owner#0000001 WithinQuota: starts with 2 workers within the nominal "
      "quota of queue \"b\"\n"
      "50.000 Wait borrower#0000000 QuotaExhausted: 32 nvidia.com/gpu needed, 16 available to "
      "queue \"a\"; by 30s from now, if running jobs end as they say\n"
      "80.000 Start borrower#0000000 Borrowing: starts with 4 workers; queue \"a\" borrows "
      "for it\n");
  EXPECT_THAT(ReadFile(FileSystem(), folder_ + "/day.svg").value_or(""), StartsWith("<svg"));
  const auto json =
      ParseJson(Muster({"simulate", "--cluster", cluster, "--trace", trace, "--json"}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["makespanSeconds"], 160.0);
  const Said nodeless = Muster({"simulate", "--trace", trace});
  EXPECT_EQ(nodeless.code, kExitBadInput);
  EXPECT_EQ(nodeless.error, "muster: the trace has no topology: give --cluster FILE\n");
  EXPECT_EQ(Muster({"simulate"}).error, "muster: give --trace FILE\n");
}

}  // namespace
}  // namespace muster::control
