#include "operator/queue/record/decision_record.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;

// Closes some nodes to some jobs and gives some inter-pod constraints; answers the same question
// about those differently each time.
class OddGate final : public GangGate {
 public:
  std::shared_ptr<const GangNodes> NodesFor(const std::string& uid) override {
    if (uid.back() == '9') return constrained_;
    return uid.size() % 3 == 0 ? nodes_ : nullptr;
  }
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    ++asked_;
    if (asked_ % 7 == 0) return std::nullopt;
    if (asked_ % 3 == 0) return GangAnswer{{}, "Constraints", absl::StrCat("no ", asked_)};
    GangAnswer answer{{}, "Constraints", "too full"};
    const auto& nodes = tree->level(tree->node_level());
    const Resources& each = question.request.per_worker;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const size_t node = (i * 5 + asked_) % nodes.size();
      const bool fits = tree->node(static_cast<int>(node)).free.gpus >= each.gpus;
      if (fits) answer.nodes.push_back(nodes[node].name);
      if (static_cast<int>(answer.nodes.size()) == question.request.min) return answer;
    }
    answer.nodes.clear();
    return answer;
  }

  const TopologyTree* tree = nullptr;

 private:
  std::shared_ptr<const GangNodes> nodes_ = std::make_shared<GangNodes>(
      GangNodes{{0, 3}, {{4, 1}}, "2 with taints that are not tolerated"});
  std::shared_ptr<const GangNodes> constrained_ =
      std::make_shared<GangNodes>(GangNodes{{1}, {}, "1 is cordoned", true});
  int asked_ = 0;
};

Inventory RacksOfTwoProducts() {
  Inventory racks = Racks(3, 4);
  for (size_t i = 0; i < racks.nodes.size(); ++i) {
    racks.nodes[i].gpu_product = i % 3 == 0 ? "A100" : "H100";
    racks.nodes[i].spot = i % 2 == 0;
    if (racks.nodes[i].spot) racks.nodes[i].spot_pool = i % 4 == 0 ? "big" : "";
  }
  return racks;
}

// A year with queues that lend, elastic jobs, deadlines and victims, one cycle after the other.
class Life {
 public:
  explicit Life(uint64_t seed)
      : random_(seed), world_(RacksOfTwoProducts(), {Queue("a", "all", 32), Protected()}) {
    gate_.tree = &world_.tree;
    world_.options.gate = &gate_;
    world_.options.refused = &memo_;
    world_.options.defragment = seed % 2 == 0;
    world_.options.links = {{"rack", {25, 3.5}}};
  }

  // Runs one cycle; sets `input` and returns the decisions.
  std::vector<Decision> Step(DecisionInput& input) {
    world_.now += absl::Seconds(std::uniform_real_distribution<double>(0, 200)(random_));
    for (int i = 0; i < Pick(0, 3); ++i) Submit();
    if (Pick(0, 2) == 0) world_.LetLeaversGo();
    for (int i = 0; i < next_; ++i) {
      const std::string uid = absl::StrCat("j", i * i);
      if (Pick(0, 9) == 0 && world_.Runs(uid)) world_.Finish(uid);
    }
    if (Pick(0, 1) == 0) memo_.Clear();
    return ScheduleAndCapture(world_.now, world_.tree, world_.book, world_.options, input);
  }

 private:
  static QueueSpec Protected() {
    QueueSpec queue = Queue("b", "all", 48);
    queue.min_runtime = absl::Minutes(3);
    queue.shrink_after = absl::Minutes(4);
    return queue;
  }

  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void Submit() {
    QueuedJob job =
        Job(absl::StrCat("j", next_ * next_), Pick(0, 1) == 0 ? "a" : "b", Pick(1, 5), Pick(1, 8),
            Pick(0, 1) * 1e3 / 3, absl::ToDoubleSeconds(world_.now - absl::UnixEpoch()));
    ++next_;
    job.priority = Pick(-1, 2);
    job.preempts = Pick(0, 3) > 0;
    if (Pick(0, 3) == 0) job.request.spot = {true, Pick(0, 5) > 0, Pick(1, 4) / 4.0, Pick(0, 2)};
    if (Pick(0, 2) == 0) job.request.min = 1;
    if (Pick(0, 3) == 0) job.request.required_level = "rack";
    job.fits_nowhere = Pick(0, 9) == 0;
    if (Pick(0, 5) == 0) job.request.slices = {{job.request.max, "rack"}};
    const int size = job.request.max;
    if (next_ % 3 == 0) job.larger_sizes = {2 * size, 3 * size};
    world_.Submit(job);
  }

  std::mt19937_64 random_;
  OddGate gate_;
  RefusalMemo memo_;
  World world_;
  int next_ = 0;
};

TEST(DecisionRecordTest, ReplayGivesTheSameBytesAfterATripThroughTheFile) {
  int decided = 0, asked = 0, leavers = 0, nowhere = 0, yields = 0, kinds[5] = {};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Life life(seed);
    for (int cycle = 0; cycle < 60; ++cycle) {
      DecisionInput input;
      const std::vector<Decision> decisions = life.Step(input);
      const std::string bytes = EncodeRecord(cycle + 1, input, decisions);
      const auto record = DecodeRecord(bytes);
      ASSERT_TRUE(record.ok()) << record.status();
      ASSERT_EQ(record->id, cycle + 1u);
      ASSERT_EQ(record->outcome, EncodeOutcome(decisions));
      const auto outcome = DecodeOutcome(record->outcome);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_EQ(EncodeOutcome(*outcome), record->outcome);
      const std::vector<Decision> again = Replay(record->input);
      ASSERT_EQ(EncodeOutcome(again), record->outcome) << "seed " << seed << ", cycle " << cycle;
      // Encoding again loses nothing.
      ASSERT_EQ(EncodeRecord(cycle + 1, record->input, again), bytes);
      for (const QueuedJob& job : record->input.snapshot.jobs) {
        leavers += job.leaves_for.empty() ? 0 : 1;
        nowhere += job.fits_nowhere ? 1 : 0;
      }
      ASSERT_EQ(record->input.snapshot.queues[1].min_runtime, absl::Minutes(3));
      ASSERT_EQ(record->input.snapshot.queues[1].shrink_after, absl::Minutes(4));
      for (const auto& [uid, answers] : input.places_for) {
        asked += static_cast<int>(answers.size());
      }
      decided += static_cast<int>(decisions.size());
      for (const Decision& decision : decisions) {
        ++kinds[static_cast<int>(decision.action)];
        yields += decision.reason == ScheduleReason::kYielded ? 1 : 0;
      }
    }
  }
  EXPECT_GT(decided, 1000);
  EXPECT_GT(asked, 100);
  EXPECT_GT(leavers, 20);
  EXPECT_GT(nowhere, 20);
  EXPECT_GT(yields, 5);
  for (int action = 0; action < 5; ++action) EXPECT_GT(kinds[action], 5) << action;
}

// Regression: records of decisions with the newest reasons were called damaged.
TEST(DecisionRecordTest, EveryReasonIsReadAgain) {
  for (int reason = 0; reason <= static_cast<int>(kLastScheduleReason); ++reason) {
    Decision decision;
    decision.reason = static_cast<ScheduleReason>(reason);
    EXPECT_NE(Name(decision.reason), "");
    const auto read = DecodeOutcome(EncodeOutcome({decision}));
    ASSERT_TRUE(read.ok()) << Name(decision.reason) << ": " << read.status();
    EXPECT_EQ(read->front().reason, decision.reason);
  }
  const int after = static_cast<int>(kLastScheduleReason) + 1;
  EXPECT_EQ(Name(static_cast<ScheduleReason>(after)), "") << "it is not the last one";
  Decision unknown;
  unknown.reason = static_cast<ScheduleReason>(after);
  EXPECT_TRUE(absl::IsDataLoss(DecodeOutcome(EncodeOutcome({unknown})).status()));
}

TEST(DecisionRecordTest, AnotherInputGivesAnotherAnswer) {
  Life life(1);
  DecisionInput input;
  std::vector<Decision> decisions;
  while (decisions.empty() || decisions[0].action != ScheduleAction::kStart) {
    decisions = life.Step(input);
  }
  for (NodeInventory& node : input.snapshot.inventory.nodes) node.schedulable = false;
  EXPECT_NE(EncodeOutcome(Replay(input)), EncodeOutcome(decisions));
}

TEST(DecisionRecordTest, OutcomesAreReadBack) {
  Decision decision;
  decision.action = ScheduleAction::kStop;
  decision.reason = ScheduleReason::kReclaimed;
  decision.job = "a";
  decision.for_job = "b";
  decision.numbers.cost = 0.1;
  decision.numbers.expected_start = absl::UnixEpoch() + absl::Nanoseconds(1) / 4;
  const std::string bytes = EncodeOutcome({decision, Decision{}});
  const auto read = DecodeOutcome(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeOutcome(*read), bytes);
  EXPECT_EQ(read->at(0).numbers.expected_start, decision.numbers.expected_start);
  EXPECT_EQ(read->at(1).numbers.expected_start, absl::InfiniteFuture());
}

TEST(DecisionRecordTest, DamagedBytesAreRefused) {
  Life life(2);
  DecisionInput input;
  const std::vector<Decision> decisions = life.Step(input);
  const std::string bytes = EncodeRecord(1, input, decisions);
  EXPECT_TRUE(absl::IsDataLoss(DecodeRecord("no record").status()));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= 0x10;
    const auto record = DecodeRecord(damaged);  // refused, or read as something else: no crash
    if (record.ok()) Replay(record->input);
  }
}

TEST(DecisionRecordTest, ARecordThatWasCutAnywhereIsRefused) {
  Life life(2);
  DecisionInput input;
  const std::vector<Decision> decisions = life.Step(input);
  for (const std::string& bytes : {EncodeRecord(1, input, decisions), EncodeRecord(1, input, {})}) {
    ASSERT_TRUE(DecodeRecord(bytes).ok());
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(DecodeRecord(std::string_view(bytes).substr(0, size)).ok()) << size;
    }
  }
}

}  // namespace
}  // namespace muster::control
