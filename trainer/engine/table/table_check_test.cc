#include "trainer/engine/table/table_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/engine/table/collective_order.h"
#include "trainer/engine/table/task_table.h"

namespace muster::trainer {
namespace {

// Returns three blocks with units 1..3 of their own; unit 0 is tied between the first and the last.
TableShape Tied() {
  return {.blocks = 3, .unit_users = {{0, 2}, {0}, {1}, {2}}, .can_split = {false, true, false}};
}

std::string Refusal(const TableShape& shape, const std::vector<TaskTable>& ranks) {
  const auto report = CheckTables(shape, ranks);
  return report.ok() ? "accepted" : std::string(report.status().message());
}

size_t Find(const TaskTable& table, const Task& task) {
  return static_cast<size_t>(std::find(table.begin(), table.end(), task) - table.begin());
}

TEST(StepTableTest, ReducesEachUnitRightAfterItsLastUsersLastBackward) {
  const TaskTable table = StepTable(Tied(), 2, 2);
  for (int unit = 0; unit < 4; ++unit) {
    const size_t at = Find(table, {.kind = TaskKind::kReduce, .unit = unit});
    ASSERT_LT(at, table.size());
    size_t before = at;
    while (table[before].kind == TaskKind::kReduce) --before;
    EXPECT_EQ(table[before], (Task{.kind = TaskKind::kBackward,
                                   .block = Tied().unit_users[unit].front(),
                                   .micro_batch = 1}));
  }
  EXPECT_EQ(table[table.size() - 2].kind, TaskKind::kVote);
  EXPECT_EQ(table.back().kind, TaskKind::kApply);
}

std::string Text(const TaskTable& table) {
  std::string text;
  for (const Task& task : table) absl::StrAppend(&text, ToString(task), "\n");
  return text;
}

TableShape Divided(bool values) {
  TableShape shape = Tied();
  shape.divided = shape.gradients_divided = true;
  shape.values_divided = values;
  return shape;
}

TEST(StepTableTest, DividedValuesAreGatheredOneBlockAheadAndReleasedAfterUse) {
  EXPECT_EQ(Text(StepTable(Divided(true), 1, 1)),
            "Gather(unit 0)\nGather(unit 1)\nGather(unit 2)\nForward(block 0, micro-batch 0)\n"
            "Release(unit 0)\nRelease(unit 1)\n"
            "Gather(unit 0)\nGather(unit 3)\nForward(block 1, micro-batch 0)\nRelease(unit 2)\n"
            "Forward(block 2, micro-batch 0)\n"
            "Gather(unit 2)\nBackward(block 2, micro-batch 0)\nRelease(unit 0)\nRelease(unit 3)\n"
            "Reduce(unit 3)\n"
            "Gather(unit 0)\nGather(unit 1)\nBackward(block 1, micro-batch 0)\nRelease(unit 2)\n"
            "Reduce(unit 2)\n"
            "Backward(block 0, micro-batch 0)\nRelease(unit 0)\nRelease(unit 1)\n"
            "Reduce(unit 0)\nReduce(unit 1)\nVote()\nApply()\n");
}

// A rank with fewer micro-batches than another must not leave it alone in a collective.
TEST(StepTableTest, RanksWithUnequalSharesRunTheSameCollectives) {
  for (const bool values : {false, true}) {
    const TableShape shape = Divided(values);
    const TaskTable one = StepTable(shape, 1, 3), three = StepTable(shape, 3, 3);
    EXPECT_EQ(Refusal(shape, {one, three}), "accepted");
    EXPECT_NE(Refusal(shape, {StepTable(shape, 1, 1), three}), "accepted");
    const auto forwards = [](const TaskTable& table) {
      return std::count_if(table.begin(), table.end(),
                           [](const Task& task) { return task.kind == TaskKind::kForward; });
    };
    EXPECT_EQ(forwards(one), 3);
    EXPECT_EQ(forwards(three), 9);
  }
}

TEST(CheckTablesTest, DividedValuesMustBeThereForEveryPassAndGoneForTheUpdate) {
  const TableShape shape = Divided(true);
  const TaskTable good = StepTable(shape, 1, 1);
  EXPECT_EQ(Refusal(shape, {good, good}), "accepted");
  const auto without_first = [&](TaskKind kind) {
    TaskTable table = good;
    table.erase(std::find_if(table.begin(), table.end(),
                             [&](const Task& task) { return task.kind == kind; }));
    return Refusal(shape, {table});
  };
  EXPECT_EQ(
      without_first(TaskKind::kGather),
      "task table of rank 0: Forward(block 0, micro-batch 0) comes before the gather of unit 0");
  EXPECT_EQ(without_first(TaskKind::kRelease),
            "task table of rank 0: Gather(unit 0) comes before its release");
  TaskTable kept = good;
  const auto last = std::find_if(kept.rbegin(), kept.rend(),
                                 [](const Task& task) { return task.kind == TaskKind::kRelease; });
  kept.erase(std::next(last).base());
  EXPECT_EQ(Refusal(shape, {kept}),
            "task table of rank 0: Apply() comes before the release of unit 1");
  TaskTable late = good;
  late.push_back({.kind = TaskKind::kGather, .unit = 0});
  EXPECT_EQ(Refusal(shape, {late}),
            "task table of rank 0: Gather(unit 0) gathers values that no block will use");
}

TEST(CheckTablesTest, EveryDividedGradientIsReducedBetweenMicroBatches) {
  const TableShape shape = Divided(false);
  const TaskTable good = StepTable(shape, 2, 2);
  EXPECT_EQ(Refusal(shape, {good, good}), "accepted");
  TaskTable half = good;
  const size_t reduce = Find(half, {.kind = TaskKind::kReduce, .unit = 3});
  half.insert(half.begin() + static_cast<ptrdiff_t>(reduce),
              {.kind = TaskKind::kReduce, .unit = 0});
  EXPECT_EQ(Refusal(shape, {half}),
            "task table of rank 0: Reduce(unit 0) comes before the last backward of its user, "
            "block 0");
  TaskTable lost = good;
  const auto last = std::find_if(lost.rbegin(), lost.rend(),
                                 [](const Task& task) { return task.kind == TaskKind::kReduce; });
  lost.erase(std::next(last).base());
  EXPECT_EQ(Refusal(shape, {lost}),
            "task table of rank 0: Vote() comes before the reduce of unit 1");
}

// Both go through one group of ranks, whose collectives are matched by their order.
TEST(CheckTablesTest, GathersAndReducesHaveOneOrderOnAllRanks) {
  const TableShape shape = Divided(true);
  const TaskTable good = StepTable(shape, 1, 1);
  TaskTable other = good;
  const size_t reduce = Find(other, {.kind = TaskKind::kReduce, .unit = 3});
  std::swap(other[reduce], other[reduce + 1]);
  EXPECT_EQ(Refusal(shape, {good, other}),
            "task tables: ranks 0 and 1 run the Reduces and Gathers of their units in different "
            "orders");
}

TEST(EvaluationTableTest, RunsEachBlockOnceWithItsValues) {
  EXPECT_EQ(Text(EvaluationTable(Tied())),
            "Forward(block 0, micro-batch 0)\nForward(block 1, micro-batch 0)\n"
            "Forward(block 2, micro-batch 0)\n");
  EXPECT_EQ(Text(EvaluationTable(Divided(true))),
            "Gather(unit 0)\nGather(unit 1)\nGather(unit 2)\nForward(block 0, micro-batch 0)\n"
            "Release(unit 0)\nRelease(unit 1)\n"
            "Gather(unit 0)\nGather(unit 3)\nForward(block 1, micro-batch 0)\nRelease(unit 2)\n"
            "Forward(block 2, micro-batch 0)\nRelease(unit 0)\nRelease(unit 3)\n");
}

TEST(CheckTablesTest, AcceptsStepTablesOfAnySizeWithoutBubble) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 4; ++micro_batches) {
      const auto report = CheckTables(
          Tied(), std::vector<TaskTable>(ranks, StepTable(Tied(), micro_batches, micro_batches)));
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->bubble, 0.0);
      EXPECT_EQ(report->most_alive, 1);
    }
  }
}

TEST(CheckTablesTest, RefusesEveryDroppedAndEveryDoubledTask) {
  const TaskTable good = StepTable(Tied(), 2, 2);
  for (size_t i = 0; i < good.size(); ++i) {
    TaskTable dropped = good;
    dropped.erase(dropped.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_NE(Refusal(Tied(), {dropped}), "accepted") << "without " << ToString(good[i]);
    // A second vote is legal: optimizers that prepare vote again.
    if (good[i].kind == TaskKind::kVote) continue;
    TaskTable doubled = good;
    doubled.insert(doubled.begin() + static_cast<ptrdiff_t>(i), good[i]);
    EXPECT_NE(Refusal(Tied(), {doubled}), "accepted") << "twice " << ToString(good[i]);
  }
}

TEST(CheckTablesTest, AcceptsATaskMovedAnywhereOnlyWhereNothingNeedsIt) {
  const TaskTable good = StepTable(Tied(), 1, 1);
  int accepted = 0, refused = 0;
  for (size_t from = 0; from < good.size(); ++from) {
    for (size_t to = 0; to < good.size(); ++to) {
      if (from == to) continue;
      TaskTable moved = good;
      moved.erase(moved.begin() + static_cast<ptrdiff_t>(from));
      moved.insert(moved.begin() + static_cast<ptrdiff_t>(to), good[from]);
      (Refusal(Tied(), {moved}) == "accepted" ? accepted : refused) += 1;
      if (good[from].kind != TaskKind::kReduce && good[to].kind != TaskKind::kReduce) {
        EXPECT_NE(Refusal(Tied(), {moved}), "accepted") << from << " to " << to;
      }
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, accepted);
}

TEST(CheckTablesTest, NamesTheRankTheTaskAndTheFault) {
  const TableShape shape = Tied();
  TaskTable table = StepTable(shape, 1, 1);
  std::swap(table[2], table[3]);
  EXPECT_EQ(Refusal(shape, {table}),
            "task table of rank 0: Backward(block 2, micro-batch 0) comes before its forward");
  table = StepTable(shape, 1, 1);
  std::swap(table[table.size() - 1], table[table.size() - 2]);
  EXPECT_EQ(Refusal(shape, {table}), "task table of rank 0: Apply() comes before the last vote");
  table = StepTable(shape, 1, 1);
  table.insert(table.end() - 1, {.kind = TaskKind::kGather, .unit = 0});
  EXPECT_EQ(Refusal(shape, {table}),
            "task table of rank 0: Gather(unit 0) communicates between the vote and the apply");
  table = StepTable(shape, 1, 1);
  table.insert(table.begin() + 4, {.kind = TaskKind::kReduce, .unit = 0});
  EXPECT_EQ(Refusal(shape, {table}),
            "task table of rank 0: Reduce(unit 0) comes before the last backward of its user, "
            "block 0");
  table = StepTable(shape, 1, 1);
  table[0].block = 7;
  EXPECT_EQ(Refusal(shape, {table}),
            "task table of rank 0: Forward(block 7, micro-batch 0) must name one of the 3 blocks");
}

TEST(CheckTablesTest, RefusesRanksThatReduceInDifferentOrders) {
  const TaskTable a = StepTable(Tied(), 1, 1);
  TaskTable b = a;
  const size_t i = Find(b, {.kind = TaskKind::kReduce, .unit = 0});
  ASSERT_EQ(b[i + 1].kind, TaskKind::kReduce);
  std::swap(b[i], b[i + 1]);
  EXPECT_EQ(Refusal(Tied(), {a, b}),
            "task tables: ranks 0 and 1 run the Reduces of their units in different orders");
}

// Any two ranks agree on the units that they share, and yet each waits for another one.
TEST(CheckTablesTest, RefusesThreeRanksThatWaitForEachOtherInACircle) {
  const auto reduces = [](int first, int second) {
    return TaskTable{{.kind = TaskKind::kReduce, .unit = first},
                     {.kind = TaskKind::kReduce, .unit = second}};
  };
  EXPECT_EQ(CheckCollectiveOrder({reduces(0, 1), reduces(1, 2), reduces(0, 2)}), absl::OkStatus());
  EXPECT_EQ(CheckCollectiveOrder({reduces(0, 1), reduces(1, 2), reduces(2, 0)}),
            absl::InvalidArgumentError("task tables: ranks 0 and 2 run the Reduces of their units "
                                       "in different orders"));
}

// Comparing each rank with each other one would take longer than any test may.
TEST(CheckTablesTest, TheTablesOfTwentyThousandRanksAreCheckedInOnePass) {
  const TaskTable same = StepTable(Tied(), 1, 1);
  std::vector<TaskTable> ranks(20'000, same);
  EXPECT_EQ(Refusal(Tied(), ranks), "accepted");
  const size_t i = Find(same, {.kind = TaskKind::kReduce, .unit = 0});
  std::swap(ranks.back()[i], ranks.back()[i + 1]);
  EXPECT_EQ(Refusal(Tied(), ranks),
            "task tables: ranks 0 and 19999 run the Reduces of their units in different orders");
}

TEST(CheckTablesTest, SplitsOnlyBackwardsThatCanSplit) {
  const auto split = [](int block) {
    TaskTable table = StepTable(Tied(), 1, 1);
    const size_t i = Find(table, {.kind = TaskKind::kBackward, .block = block, .micro_batch = 0});
    table[i].kind = TaskKind::kBackwardInput;
    table.insert(table.begin() + static_cast<ptrdiff_t>(i) + 1,
                 {.kind = TaskKind::kBackwardWeight, .block = block, .micro_batch = 0});
    return table;
  };
  EXPECT_EQ(Refusal(Tied(), {split(1)}), "accepted");
  EXPECT_EQ(Refusal(Tied(), {split(2)}),
            "task table of rank 0: BackwardInput(block 2, micro-batch 0) splits the backward of a "
            "block that cannot split");
}

// Returns two stages of one block each, as in GPipe: all forwards, then all backwards.
std::vector<TaskTable> TwoStages(int micro_batches) {
  std::vector<TaskTable> ranks(2);
  for (int m = 0; m < micro_batches; ++m) {
    ranks[0].push_back({.kind = TaskKind::kForward, .block = 0, .micro_batch = m});
    ranks[0].push_back({.kind = TaskKind::kSend, .block = 0, .micro_batch = m, .peer = 1});
    ranks[1].push_back({.kind = TaskKind::kRecv, .block = 0, .micro_batch = m, .peer = 0});
    ranks[1].push_back({.kind = TaskKind::kForward, .block = 1, .micro_batch = m});
  }
  for (int m = micro_batches - 1; m >= 0; --m) {
    const Task send{
        .kind = TaskKind::kSend, .block = 0, .micro_batch = m, .peer = 0, .gradient = true};
    ranks[1].push_back({.kind = TaskKind::kBackward, .block = 1, .micro_batch = m});
    ranks[1].push_back(send);
    Task receive = send;
    receive.kind = TaskKind::kRecv;
    receive.peer = 1;
    ranks[0].push_back(receive);
    ranks[0].push_back({.kind = TaskKind::kBackward, .block = 0, .micro_batch = m});
  }
  for (int r = 0; r < 2; ++r) {
    ranks[r].push_back({.kind = TaskKind::kReduce, .unit = r});
    ranks[r].push_back({.kind = TaskKind::kVote});
    ranks[r].push_back({.kind = TaskKind::kApply});
  }
  return ranks;
}
const TableShape kTwoBlocks{.blocks = 2, .unit_users = {{0}, {1}}};

TEST(CheckTablesTest, CountsTheBubbleOfAPipeline) {
  // GPipe's bubble is (stages - 1) / (micro-batches + stages - 1).
  for (const int m : {1, 2, 4, 8}) {
    const auto report = CheckTables(kTwoBlocks, TwoStages(m));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_DOUBLE_EQ(report->bubble, 1.0 / (m + 1));
    EXPECT_EQ(report->most_alive, m);
  }
}

TEST(CheckTablesTest, FindsMessagesThatDoNotMatchAndDeadlocks) {
  auto ranks = TwoStages(2);
  std::swap(ranks[0][1], ranks[0][3]);
  EXPECT_EQ(Refusal(kTwoBlocks, ranks),
            "task table of rank 0: Send(block 0, micro-batch 1, peer 1) sends a tensor that is not "
            "computed yet");
  ranks = TwoStages(2);
  std::swap(ranks[1][0], ranks[1][2]);
  std::swap(ranks[1][1], ranks[1][3]);
  EXPECT_EQ(Refusal(kTwoBlocks, ranks),
            "task tables: rank 1 expects Recv(block 0, micro-batch 1, peer 0) but rank 0 sent "
            "Send(block 0, micro-batch 0, peer 1)");
  ranks = TwoStages(1);
  ranks[0].erase(ranks[0].begin() + 1);
  EXPECT_EQ(
      Refusal(kTwoBlocks, ranks),
      "task tables: deadlock: rank 0 would wait forever in Recv(block 0, micro-batch 0, gradient, "
      "peer 1)");
  ranks = TwoStages(1);
  ranks[0].insert(ranks[0].begin() + 2, ranks[0][1]);
  EXPECT_EQ(Refusal(kTwoBlocks, ranks),
            "task tables: no rank receives Send(block 0, micro-batch 0, peer 1) from rank 0");
  ranks = TwoStages(1);
  ranks[1].insert(ranks[1].end() - 1, {.kind = TaskKind::kVote});
  EXPECT_EQ(Refusal(kTwoBlocks, ranks),
            "task tables: deadlock: rank 1 would wait forever in Vote()");
}

TEST(CheckTablesTest, AnUpdateThatIsPreparedMustBeConfirmed) {
  TableShape shape = Tied();
  shape.optimizer_prepares = true;
  const TaskTable good = StepTable(shape, 1, 1);
  EXPECT_EQ(Refusal(shape, {good, good}), "accepted");
  const auto without = [&](TaskKind kind) {
    TaskTable table = good;
    std::erase_if(table, [&](const Task& task) { return task.kind == kind; });
    return Refusal(shape, {table});
  };
  EXPECT_EQ(without(TaskKind::kPrepare),
            "task table of rank 0: Confirm() comes before the update is prepared");
  EXPECT_EQ(without(TaskKind::kConfirm),
            "task table of rank 0: Prepare() communicates between the vote and the apply");
  EXPECT_EQ(Refusal(shape, {StepTable(Tied(), 1, 1)}),
            "task table of rank 0: the update is not prepared and confirmed");
  EXPECT_EQ(without(TaskKind::kVote), "task table of rank 0: Prepare() comes before the vote");
}

TEST(CheckTablesTest, ADividedStateIsGatheredAfterEveryUpdate) {
  TableShape shape = Tied();
  shape.divided = true;
  const TaskTable good = StepTable(shape, 1, 1);
  EXPECT_EQ(Refusal(shape, {good, good}), "accepted");
  EXPECT_EQ(Refusal(Tied(), {good}),
            "task table of rank 0: Gather(unit 0) gathers a unit that every rank holds");
  TaskTable less = good;
  less.pop_back();
  EXPECT_EQ(Refusal(shape, {less}), "task table of rank 0: not every unit is gathered");
  TaskTable early = good;
  std::rotate(early.rbegin(), early.rbegin() + 1, early.rend());
  EXPECT_NE(Refusal(shape, {early}), "accepted");
}

}  // namespace
}  // namespace muster::trainer
