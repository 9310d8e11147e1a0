// Tests `muster tree`, `queue` and `explain`: where jobs run, in which order the others follow, and
// why.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/placement_commands.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(PlacementCommandsTest, TreeShowsFreeCapacity) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
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

TEST_F(PlacementCommandsTest, TreeSaysWhyHostsAreNotUsable) {
  Json node = world_.memory->Get(kube::kNodes, {"", "n1"}).value();
  node["spec"] = Json::parse(R"({"unschedulable": true})");
  ASSERT_TRUE(world_.memory->Update(kube::kNodes, node).ok());
  node = world_.memory->Get(kube::kNodes, {"", "n2"}).value();
  node["spec"] =
      Json::parse(R"({"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]})");
  ASSERT_TRUE(world_.memory->Update(kube::kNodes, node).ok());
  Said all;
  EXPECT_TRUE(world_.Until([&] {
    all = Muster({"tree", "--server", server_});
    return all.out.find("taint") != std::string::npos &&
           all.out.find("cordoned") != std::string::npos;
  })) << all.out;
  EXPECT_THAT(all.out, HasSubstr("cluster  4 nodes, 3 usable (1 cordoned)  "));
  EXPECT_THAT(all.out, HasSubstr("leaf l0  2 nodes, 1 usable (1 cordoned)  "));
  EXPECT_THAT(all.out, HasSubstr("host n1  not usable: cordoned  "));
  EXPECT_THAT(all.out, HasSubstr("leaf l1  2 nodes  16 of 16 GPUs free"));
  EXPECT_THAT(all.out, HasSubstr("host n2  taint team=a:NoSchedule  8 of 8 GPUs free"));
}

TEST_F(PlacementCommandsTest, TreeOnlyCountsTheHostsOfALargeCluster) {
  for (int i = 4; i < 132; ++i) AddNode(i);
  Said all;
  const auto tree_begins = [&](const std::string& line) {
    return world_.Until([&] {
      all = Muster({"tree", "--server", server_});
      return all.out.find(line) == 0;
    });
  };
  // Waits for all nodes first: a leaf with only one known node would fit the job better than l0.
  ASSERT_TRUE(tree_begins("cluster  132 nodes, 132 unused  1056 of 1056 GPUs free")) << all.out;
  Submit("gpt", 1, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  ASSERT_TRUE(tree_begins("cluster  132 nodes, 131 unused  1048 of 1056 GPUs free")) << all.out;
  EXPECT_THAT(all.out, HasSubstr("\n    leaf l65  2 nodes, 2 unused  16 of 16 GPUs free"));
  EXPECT_THAT(all.out, HasSubstr("\n    leaf l0  2 nodes, 1 unused  8 of 16 GPUs free"));
  EXPECT_THAT(all.out, testing::Not(HasSubstr("host ")));
  EXPECT_THAT(Muster({"tree", "--depth=9", "--server", server_}).out,
              HasSubstr("\n      host n131  8 of 8 GPUs free"));
}

TEST_F(PlacementCommandsTest, ContradictingLabelsAndMissingClassesAreReportedAsEvents) {
  Json stray = kube::NewObject(kube::kNodes, {"", "stray"});
  stray["metadata"]["labels"] = {{"network.topology.nvidia.com/leaf", "l0"},
                                 {"network.topology.nvidia.com/spine", "s9"}};
  ASSERT_TRUE(world_.memory->Create(kube::kNodes, stray).ok());
  Json urgent = kube::NewObject(kube::kPriorityClasses, {"", "urgent"});
  urgent["value"] = 1000;
  ASSERT_TRUE(world_.memory->Create(kube::kPriorityClasses, urgent).ok());
  Submit("typo", 8, "{}", R"("priorityClassName": "ugrent", )");
  ASSERT_TRUE(HasPlacementReason("typo", "Insufficient"));
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

TEST_F(PlacementCommandsTest, QueueShowsTheOrderTheShareAndTheReasons) {
  Json queue = kube::NewObject(kube::kTrainingQueues, {"", "default"});
  queue["spec"] = {
      {"quotas",
       {{{"resource", "nvidia.com/gpu"}, {"nominal", "16"}}, {{"resource", "nvidia.com/gpuu"}}}}};
  const auto made = world_.memory->Create(kube::kTrainingQueues, queue);
  ASSERT_TRUE(made.ok()) << made.status();
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("wide", "ExceedsQuota"));
  const Said all = Muster({"queue", "--server", server_});
  EXPECT_EQ(all.code, kExitOk);
  EXPECT_THAT(all.out, testing::StartsWith("default: 1 running, 1 waiting, share 0.25\n"));
  EXPECT_THAT(all.out, HasSubstr("\n  no node has nvidia.com/gpuu, so that limits nothing; "));
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

TEST_F(PlacementCommandsTest, ExplainSaysWhereAJobRunsOrWhyItWaits) {
  Submit("gpt", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  Submit("wide", 3, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("wide", "Insufficient"));
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

TEST_F(PlacementCommandsTest, ExplainSaysWhyAJobHasItsSize) {
  world_.CreateJob(absl::StrReplaceAll(Manifest("gpt", 2, R"({"require": "leaf"})"),
                                       {{R"("gpus": 8)", R"("gpus": 8, "max": 4)"}}));
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  EXPECT_THAT(Muster({"explain", "gpt", "--server", server_}).out,
              HasSubstr("\n  size 2, Fixed: it has workers.count workers; elastic.policy is Fixed, "
                        "so it does not grow by itself\n"));
  const auto json = ParseJson(Muster({"explain", "gpt", "--json", "--server", server_}).out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["size"]["workers"], 2);
  EXPECT_EQ((*json)["size"]["reason"], "Fixed");
}

TEST_F(PlacementCommandsTest, ExplainSaysWhenAJobStarts) {
  Submit("gpt", 2, R"({"require": "leaf"})", R"("activeDeadline": "40m", )");
  ASSERT_TRUE(HasPlacementReason("gpt", "Placed"));
  Submit("bert", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("bert", "Placed"));
  Submit("next", 2, R"({"require": "leaf"})");
  ASSERT_TRUE(HasPlacementReason("next", "NoNodeBigEnough"));
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
  // The job without a deadline has reported steps in the meantime.
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
  ASSERT_TRUE(HasPlacementReason("gpt-large", "Placed"));
  EXPECT_THAT(Muster({"explain", "gtp-large", "--server", server_}).error,
              HasSubstr("there is no job default/gtp-large; did you mean gpt-large?\n"));
  const Said nameless = Muster({"explain", "--server", server_});
  EXPECT_EQ(nameless.code, kExitBadInput);
  EXPECT_EQ(nameless.error, "muster: which job? muster explain JOB\n");
  const Said foreign = Muster({"explain", "gpt", "--server", "ftp://operator"});
  EXPECT_EQ(foreign.code, kExitBadInput);
  EXPECT_EQ(
      foreign.error,
      "muster: --server: ftp://operator is not the address of an operator: give https://HOST:PORT "
      "of a cluster, or unix:/PATH or http://HOST:PORT of this machine\n");
  // The state directory has neither a job nor an operator.
  const Said nowhere = Muster({"explain", "gpt", "--state-dir", folder_ + "/state"});
  EXPECT_EQ(nowhere.code, kExitBadInput);
  EXPECT_THAT(nowhere.error, HasSubstr("there is no job 'gpt'"));
  world_.StopOperator();
  const Said gone = Muster({"explain", "gpt", "--server", server_});
  EXPECT_EQ(gone.code, kExitFailed);
  EXPECT_EQ(gone.error,
            absl::StrCat("muster: the operator at ", server_, " does not answer: no connection\n"));
}

}  // namespace
}  // namespace muster::control
