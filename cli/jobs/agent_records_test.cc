#include "cli/jobs/agent_records.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/worker/stream/unsent_reports.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::cli {
namespace {

v1alpha1::StepReport Step(int64_t step, int64_t attempt) {
  v1alpha1::StepReport report;
  report.mutable_version()->set_step(step);
  report.mutable_version()->set_attempt(attempt);
  report.set_loss(1.0 / static_cast<double>(step));
  return report;
}

class AgentRecordsTest : public testing::Test {
 protected:
  // Leaves what an agent that trained the steps `from` to `to` and saved the last one leaves.
  void Leave(const std::string& pod, int64_t from, int64_t to, int64_t attempt) {
    std::vector<v1alpha1::AgentMessage> reports(2);
    for (int64_t step = from; step <= to; ++step) {
      *reports[0].mutable_steps()->add_steps() = Step(step, attempt);
    }
    v1alpha1::CheckpointReport& saved = *reports[1].mutable_checkpoint();
    saved.set_phase(v1alpha1::CheckpointReport::WRITTEN);
    saved.mutable_version()->set_step(to);
    saved.mutable_version()->set_attempt(attempt);
    saved.set_directory(absl::StrCat("step-", to));
    const std::string folder = JoinPath(paths_.pods(), pod);
    ASSERT_TRUE(files_.MakeDirectories(folder).ok());
    const std::string path = JoinPath(folder, agent::kUnsentReportsFile);
    ASSERT_TRUE(agent::WriteUnsentReports(files_, path, reports).ok());
  }

  MemoryFiles files_;
  const JobPaths paths_{"/state", "small"};
};

// Regression: after kill -9 of `muster run`, the steps that its agents still trained and saved were
// missing in listing and curve for good.
TEST_F(AgentRecordsTest, StepsAndCheckpointOfAgentsThatWereLeftAloneAreTakenInOnce) {
  Leave("small-0-1", 8, 12, 1);
  ASSERT_TRUE(files_.MakeDirectories(JoinPath(paths_.pods(), "small-1-1")).ok());
  auto history = History::Open(files_, paths_.history());
  ASSERT_TRUE(history.ok()) << history.status();
  for (int64_t step = 1; step <= 9; ++step) ASSERT_TRUE((*history)->Add(Step(step, 1)).ok());

  const AgentRecords records = ReadAgentRecords(files_, paths_);
  ASSERT_TRUE(AddTo(**history, records).ok());
  ASSERT_TRUE(AddTo(**history, records).ok());
  EXPECT_EQ((*history)->steps().size(), 12u);
  EXPECT_EQ((*History::Load(files_, paths_.history()))->last_step(), 12);
  control::TrainingJob job;
  job.spec.mutable_checkpoint()->set_uri("/ck");
  job.status.mutable_progress()->set_step(7);
  ShowIn(job, records);
  EXPECT_EQ(job.status.progress().step(), 12);
  EXPECT_EQ(job.status.checkpoint().step(), 12);
  EXPECT_EQ(job.status.checkpoint().uri(), "/ck/step-12");

  ASSERT_TRUE(RemoveAgentRecords(files_, paths_).ok());
  EXPECT_TRUE(ReadAgentRecords(files_, paths_).steps.empty());
}

TEST_F(AgentRecordsTest, AnOlderAttemptTakesNothingBack) {
  Leave("small-0-1", 3, 20, 1);
  Leave("small-0-2", 10, 11, 2);
  auto history = History::Open(files_, paths_.history());
  for (int64_t step = 1; step <= 9; ++step) ASSERT_TRUE((*history)->Add(Step(step, 2)).ok());
  ASSERT_TRUE(AddTo(**history, ReadAgentRecords(files_, paths_)).ok());
  EXPECT_EQ((*history)->last_step(), 11);
  EXPECT_EQ((*history)->steps().size(), 11u);
}

TEST_F(AgentRecordsTest, AFileThatIsNoRecordIsPassedOver) {
  Leave("small-1-1", 1, 2, 1);
  const std::string folder = JoinPath(paths_.pods(), "small-0-1");
  ASSERT_TRUE(files_.MakeDirectories(folder).ok());
  const std::string path = JoinPath(folder, agent::kUnsentReportsFile);
  ASSERT_TRUE(WriteFileAtomically(files_, path, "\xff\xff\xff\xffno records").ok());
  EXPECT_EQ(agent::ReadUnsentReports(files_, path).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadAgentRecords(files_, paths_).steps.size(), 2u);
}

TEST_F(AgentRecordsTest, NumbersThatNoAgentReportsAreNotBelieved) {
  Leave("small-0-1", 8, 9, 1);
  Leave("small-1-1", int64_t{1} << 60, int64_t{1} << 60, int64_t{1} << 60);
  const AgentRecords records = ReadAgentRecords(files_, paths_);
  ASSERT_EQ(records.steps.size(), 2u);
  EXPECT_EQ(records.steps.back().version().step(), 9);
  EXPECT_EQ(records.saved->version().step(), 9);
}

}  // namespace
}  // namespace muster::cli
