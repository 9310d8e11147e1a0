// Compares muster's filters and places with kube-scheduler's own plugins, which are in
// tests/testenv/modules/controlplane/filters, on random clusters.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/quantity.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "tests/bench/contest/placement_contest.h"
#include "tests/bench/contest/scheduler_peer.h"
#include "tests/differential/load_cluster.h"
#include "tests/differential/random_cluster.h"

namespace muster::control {
namespace {

// The name of kube-scheduler's plugin for a reason. Rules that only muster has do not occur in
// random clusters.
std::string PluginOf(FilterReason reason) {
  static const std::map<FilterReason, std::string> plugins = {
      {FilterReason::kNodeUnschedulable, "NodeUnschedulable"},
      {FilterReason::kNodeName, "NodeName"},
      {FilterReason::kTaint, "TaintToleration"},
      {FilterReason::kNodeAffinity, "NodeAffinity"},
      {FilterReason::kHostPorts, "NodePorts"},
      {FilterReason::kResources, "NodeResourcesFit"},
      {FilterReason::kVolumeConflict, "VolumeRestrictions"},
      {FilterReason::kAttachLimit, "NodeVolumeLimits"},
      {FilterReason::kVolumeBinding, "VolumeBinding"},
      {FilterReason::kVolumeZone, "VolumeZone"},
      {FilterReason::kTopologySpread, "PodTopologySpread"},
      {FilterReason::kPodAffinity, "InterPodAffinity"},
  };
  const auto it = plugins.find(reason);
  return it == plugins.end() ? "ours: " + std::string(Name(reason)) : it->second;
}

// Sends all requests to the peer at once, one JSON object a line, and returns its answers.
std::vector<Json> AskPeer(const std::vector<Json>& requests) {
  const char* peer = std::getenv("MUSTER_FILTER_PEER");
  if (peer == nullptr) {
    ADD_FAILURE() << "MUSTER_FILTER_PEER is not set: run this through its sh_test";
    return {};
  }
  const std::string in = ::testing::TempDir() + "/requests.jsonl";
  const std::string out = ::testing::TempDir() + "/answers.jsonl";
  {
    std::ofstream lines(in);
    for (const Json& request : requests) lines << DumpJson(request) << "\n";
  }
  const std::string command = "'" + std::string(peer) + "' <'" + in + "' >'" + out + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<Json> answers;
  std::ifstream lines(out);
  for (std::string line; std::getline(lines, line);) answers.push_back(ParseJson(line).value());
  EXPECT_EQ(answers.size(), requests.size());
  return answers;
}

class Comparison {
 public:
  void Compare(uint64_t seed, const Json& objects, const Json& answer) {
    const ClusterSnapshot snapshot = LoadCluster(objects);
    for (const auto& [name, held] : answer.at("held").items()) {
      EXPECT_EQ(Held(*snapshot.FindNode(name)), held) << "seed " << seed << ", " << name;
    }
    const FilterOptions options{"", objects.at("taintComparison").get<bool>()};
    size_t index = 0;
    for (const Json& json : objects.at("waiting")) {
      const SchedulingPod pod = ParseSchedulingPod(json).value();
      const NodeFilter filter(pod, snapshot, options);
      for (const auto& [name, theirs] : answer.at("refusals").at(index).items()) {
        ComparePair(filter, *snapshot.FindNode(name), theirs,
                    "seed " + std::to_string(seed) + ", " + pod.name + " on " + name);
      }
      ++index;
    }
  }

  void Report() const {
    std::printf("%d pairs, %d fit, %d disagreements; refusals by plugin (alone, in all):\n", pairs_,
                fits_, disagreements_);
    for (const auto& [plugin, count] : refusals_) {
      const auto alone = alone_.find(plugin);
      std::printf("  %-20s %5d %5d\n", plugin.c_str(), alone == alone_.end() ? 0 : alone->second,
                  count);
    }
  }
  int pairs() const { return pairs_; }
  int fits() const { return fits_; }
  int disagreements() const { return disagreements_; }
  const std::map<std::string, int>& alone() const { return alone_; }

 private:
  static Json Held(const NodeState& node) {
    Json scalars = Json::object();
    for (const auto& [name, amount] : node.held.scalars) scalars[name] = amount;
    return {{"cpu", node.held.cpu_millis},
            {"memory", node.held.memory_bytes},
            {"ephemeral", node.held.ephemeral_bytes},
            {"scalars", std::move(scalars)}};
  }

  void ComparePair(const NodeFilter& filter, const NodeState& node, const Json& theirs,
                   const std::string& where) {
    ++pairs_;
    std::set<std::string> ours;
    std::string said;
    for (const NodeRefusal& refusal : filter.Explain(node)) {
      ours.insert(PluginOf(refusal.reason));
      said += Sentence(refusal) + "; ";
    }
    if (ours.empty()) ++fits_;
    for (const std::string& plugin : ours) ++refusals_[plugin];
    if (ours.size() == 1) ++alone_[*ours.begin()];
    // Check() must agree with the thorough Explain(), as must Copies().
    const auto first = filter.Check(node);
    EXPECT_EQ(first.has_value(), !ours.empty()) << where;
    EXPECT_EQ(filter.Copies(node) > 0, ours.empty()) << where;
    if (Json(ours) == theirs) return;
    if (++disagreements_ > kShown) return;
    ADD_FAILURE() << where << ": ours " << Json(ours).dump() << ", theirs " << theirs.dump()
                  << "\n  we say: " << said;
  }

  static constexpr int kShown = 20;
  int pairs_ = 0;
  int fits_ = 0;
  int disagreements_ = 0;
  std::map<std::string, int> refusals_;
  std::map<std::string, int> alone_;
};

TEST(FilterDifferentialTest, AgreesWithKubeSchedulersPluginsOnEveryPair) {
  const uint64_t clusters = TestIterations({.sanitized = 1000, .usual = 1000, .full = 10000});
  constexpr uint64_t kAtOnce = 500;
  Comparison comparison;
  for (uint64_t first = 1; first <= clusters; first += kAtOnce) {
    std::vector<Json> requests;
    for (uint64_t i = 0; i < kAtOnce; ++i) {
      requests.push_back(RandomCluster(first + i).objects());
    }
    const std::vector<Json> answers = AskPeer(requests);
    ASSERT_EQ(answers.size(), requests.size());
    for (uint64_t i = 0; i < kAtOnce; ++i) {
      comparison.Compare(first + i, requests[i], answers[i]);
    }
  }
  comparison.Report();
  EXPECT_EQ(comparison.disagreements(), 0);
  EXPECT_GE(comparison.pairs(), 25000);
  // About half of the pairs fit, and each rule is often enough the only one to refuse.
  EXPECT_NEAR(comparison.fits(), comparison.pairs() / 2, comparison.pairs() / 8);
  EXPECT_EQ(comparison.alone().size(), 12u);
  for (const auto& [plugin, count] : comparison.alone()) EXPECT_GE(count, 20) << plugin;
}

TEST(FilterDifferentialTest, ReadsQuantitiesAsTheApiMachineryDoes) {
  Dice dice(7);
  Json texts = {"",
                "0",
                ".5",
                "5.",
                "1e3",
                "1E3",
                "1E",
                "1Ki",
                "1.5Gi",
                "0.1n",
                "100u",
                "1e-12",
                "9223372036854775807",
                "9223372036854775808",
                "8Ei",
                "1e30",
                "-1",
                "1m5",
                "12e",
                "+3"};
  for (int i = 0; i < 20000; ++i) texts.push_back(RandomQuantity(dice));
  const std::vector<Json> answers = AskPeer({{{"quantities", texts}}});
  ASSERT_EQ(answers.size(), 1u);
  int read = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Json& theirs = answers[0].at("quantities").at(i);
    const auto ours = Quantity::Parse(texts[i].get<std::string>());
    ASSERT_EQ(ours.ok(), theirs.at("ok").get<bool>()) << texts[i];
    if (!ours.ok()) continue;
    ++read;
    EXPECT_EQ(ours->IsNegative(), theirs.at("negative").get<bool>()) << texts[i];
    if (theirs.at("overflow").get<bool>() || ours->IsNegative()) continue;
    EXPECT_EQ(ours->Value(), theirs.at("value").get<int64_t>()) << texts[i];
    EXPECT_EQ(ours->MilliValue(), theirs.at("milli").get<int64_t>()) << texts[i];
  }
  EXPECT_GT(read, 10000);
}

// The default profile is the peer of the placement score in `tools/bench placement`: it spreads.
TEST(SchedulerPeerTest, TheDefaultProfileSpreadsGangsThatWeKeepTogether) {
  const char* peer = std::getenv("MUSTER_FILTER_PEER");
  ASSERT_NE(peer, nullptr);
  Contest contest = SmallContest(1);
  for (NodeInventory& node : contest.inventory.nodes) node.free = node.allocatable;
  contest.gangs.resize(1);
  contest.gangs[0].per_worker = WithGpus(1);
  contest.gangs[0].min = contest.gangs[0].max = 8;
  const auto theirs = PlaceAsKubeScheduler(contest, 1, peer, ::testing::TempDir());
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  ASSERT_EQ(theirs->size(), 1u);
  EXPECT_EQ(std::set<std::string>(theirs->at(0).begin(), theirs->at(0).end()).size(), 8u);
  const Places ours = PlaceInTurn(contest);
  EXPECT_EQ(std::set<std::string>(ours[0].begin(), ours[0].end()).size(), 1u);

  double our_score = 0, their_score = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Contest broken = SmallContest(seed);
    const auto places = PlaceAsKubeScheduler(broken, seed, peer, ::testing::TempDir());
    ASSERT_TRUE(places.ok()) << places.status();
    const auto outcome = ScoreContest(broken, *places);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_GT(outcome->placed, 0);
    their_score += outcome->score;
    our_score += ScoreContest(broken, PlaceInTurn(broken)).value().score;
  }
  EXPECT_GT(our_score, 2 * their_score);
}

}  // namespace
}  // namespace muster::control
