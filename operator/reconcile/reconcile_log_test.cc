#include "operator/reconcile/reconcile_log.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordingObserver final : public ControllerObserver {
 public:
  void RoundOpened(std::string_view reason) override { Add("opened", reason); }
  void RoundBroke(std::string_view kind) override { Add("broke", kind); }
  void Recovered(std::string_view kind, absl::Duration took) override {
    Add("recovered", std::string(kind) + " " + absl::FormatDuration(took));
  }
  void FailureEvaluated(std::string_view kind, std::string_view action) override {
    Add("judged", std::string(kind) + " " + std::string(action));
  }
  void StatusWritten(bool progress_only) override {
    Add("wrote", progress_only ? "progress" : "decision");
  }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  void Add(const std::string& what, std::string_view more) {
    lines_.push_back(what + " " + std::string(more));
  }
  std::vector<std::string> lines_;
};

class ReconcileLogTest : public testing::Test {
 protected:
  ReconcileLogTest()
      : path_(absl::StrCat(getenv("TEST_TMPDIR"), "/",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    EXPECT_TRUE(LogToFile(path_, /*also_stderr=*/false).ok());
    debug_.key = "default/gpt";
  }
  ~ReconcileLogTest() override { EXPECT_TRUE(LogToFile("", true).ok()); }

  Plan Next(RoundPhase phase, int64_t round, const std::string& reason) {
    Plan plan;
    plan.memory.phase = phase;
    plan.memory.id = {2, round};
    plan.reason = reason;
    plan.sentence = "why " + reason;
    plan.status.set_state(phase == RoundPhase::kActive ? "Training" : "Starting");
    return plan;
  }
  void Record(const Plan& plan) {
    ++reconcile_;
    const LogScope about({{"job", "default/gpt"},
                          {"uid", "u-1"},
                          {"term", 2},
                          {"round", memory_.id.round},
                          {"reconcile", reconcile_}});
    RecordDecision(memory_, plan, reconcile_, now_, &told_, debug_);
    memory_ = plan.memory;
  }
  // The lines since the last call, without their time stamps.
  std::vector<std::string> Lines() {
    std::vector<std::string> fresh;
    std::ifstream in(path_);
    std::string line;
    for (size_t i = 0; std::getline(in, line); ++i) {
      if (i >= read_) fresh.push_back(line.substr(line.find(' ') + 1));
    }
    read_ += fresh.size();
    return fresh;
  }

  const std::string path_;
  size_t read_ = 0;
  RecordingObserver told_;
  JobDebug debug_;
  RoundMemory memory_;
  int64_t reconcile_ = 0;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ReconcileLogTest, TheLineOfADecision) {
  Record(Next(RoundPhase::kPreparing, 1, "PreparingRound"));
  EXPECT_THAT(Lines(),
              ElementsAre("INFO decided job=default/gpt uid=u-1 term=2 round=1 reconcile=1 "
                          "state=Starting phase=Preparing reason=PreparingRound "
                          "sentence=\"why PreparingRound\""));
  EXPECT_THAT(told_.Take(), ElementsAre("opened FirstRound"));
}

TEST_F(ReconcileLogTest, OneLinePerChangeAndNoneForTheSameDecisionAgain) {
  Record(Next(RoundPhase::kActive, 1, "RoundActive"));
  EXPECT_EQ(Lines().size(), 1u);
  for (int i = 0; i < 1000; ++i) {
    Plan plan = Next(RoundPhase::kActive, 1, "RoundActive");
    plan.sentence = absl::StrCat("step ", i);
    Record(plan);
  }
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_EQ(debug_.reconciles, 1001);
  EXPECT_EQ(debug_.reconcile, 1001);
  EXPECT_EQ(debug_.changed_by, 1);
  Record(Next(RoundPhase::kActive, 1, "Stopping"));
  EXPECT_EQ(Lines().size(), 1u);
}

TEST_F(ReconcileLogTest, ARecoveryIsTimedFromTheBreakToTheNextActiveRound) {
  Record(Next(RoundPhase::kActive, 1, "RoundActive"));
  Plan broke = Next(RoundPhase::kPreparing, 2, "RankFailed");
  broke.memory.broken_reason = Reason::kRankFailed;
  Record(broke);
  now_ += absl::Milliseconds(700);
  Plan joining = Next(RoundPhase::kJoining, 2, "JoiningRound");
  joining.memory.broken_reason = Reason::kRankFailed;
  Record(joining);
  told_.Take();
  Lines();
  now_ += absl::Milliseconds(800);
  Record(Next(RoundPhase::kActive, 2, "RoundActive"));
  EXPECT_THAT(told_.Take(), ElementsAre("recovered RankFailed 1.5s"));
  EXPECT_THAT(Lines(), ElementsAre("INFO recovered job=default/gpt uid=u-1 term=2 round=2 "
                                   "reconcile=4 from=RankFailed seconds=1.5",
                                   testing::StartsWith("INFO decided ")));
  EXPECT_EQ(debug_.recoveries, 1);
  EXPECT_EQ(debug_.rounds_opened, 1) << "the first round was active already";
}

TEST_F(ReconcileLogTest, AChangeOfMembersThatWasAskedForIsNoRecovery) {
  Record(Next(RoundPhase::kActive, 1, "RoundActive"));
  told_.Take();
  Plan changed = Next(RoundPhase::kPreparing, 2, "MembershipChanged");
  changed.memory.broken_reason = Reason::kMembershipChanged;
  changed.write_status = true;
  Record(changed);
  EXPECT_THAT(told_.Take(), ElementsAre("opened MembershipChanged", "wrote decision"));
  EXPECT_EQ(debug_.recoveries, 0);
}

TEST_F(ReconcileLogTest, AJobStoppedWhileItRecoversHasNotRecovered) {
  Record(Next(RoundPhase::kActive, 1, "RoundActive"));
  Plan broke = Next(RoundPhase::kHolding, 1, "WorkerLost");
  broke.memory.broken_reason = Reason::kWorkerLost;
  Record(broke);
  Record(Next(RoundPhase::kIdle, 1, "SuspendRequested"));
  told_.Take();
  Record(Next(RoundPhase::kPreparing, 2, "PreparingRound"));
  Record(Next(RoundPhase::kActive, 2, "RoundActive"));
  EXPECT_THAT(told_.Take(), ElementsAre("opened Resumed"));
}

TEST_F(ReconcileLogTest, EvaluatedFailuresReachTheObserver) {
  Plan plan = Next(RoundPhase::kActive, 1, "RoundActive");
  plan.failures = {{FailureClass::kNodeLost, FailureAction::kIgnore},
                   {FailureClass::kRankKilled, FailureAction::kRestartJob}};
  told_.Take();
  Record(plan);
  const std::vector<std::string> told = told_.Take();
  EXPECT_THAT(told,
              testing::IsSupersetOf({"judged NodeLost Ignore", "judged RankKilled RestartJob"}));
}

}  // namespace
}  // namespace muster::control
