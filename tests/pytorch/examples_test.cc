// Runs examples/pytorch-ddp.yaml and pytorch-fsdp.yaml with the reference build of PyTorch: a run
// whose processes are killed ends with the loss of an undisturbed one.

#include <signal.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Two processes import PyTorch, which takes most of the time.
constexpr absl::Duration kLong = absl::Seconds(200);

// Returns the example as a user on this machine would have it: with paths of this test, and the
// reference build's python3.
std::string ManifestOf(const std::string& job) {
  const auto text = ReadFile(FileSystem(), ProgramPath(absl::StrCat("examples/", job, ".yaml")));
  EXPECT_TRUE(text.ok()) << text.status();
  const std::string python = absl::StrCat("[", ProgramPath("tests/parity/with_reference.sh"));
  return absl::StrReplaceAll(text.value_or(""),
                             {{"[python3", python},
                              {"examples/pytorch/", ProgramPath("examples/pytorch/")},
                              {"value: agent/client", "value: " + ProgramPath("agent/client")},
                              {".muster/checkpoints/" + job, "$FOLDER/checkpoints"}});
}

std::unique_ptr<LocalRun> NewRun(const std::string& job, const std::string& folder) {
  return std::make_unique<LocalRun>(FreshFolder(folder), job, ManifestOf(job));
}

// Returns the last line of the script's that names a loss: "step 300 loss 1.234567".
std::string LastLoss(const LocalRun& run) {
  const std::string output = ReadFile(FileSystem(), run.folder() + "/out.log").value_or("");
  std::string last = "no loss";
  for (const auto line : absl::StrSplit(output, '\n')) {
    const size_t at = line.find("step ");
    if (at != line.npos && absl::StrContains(line, " loss ")) last = std::string(line.substr(at));
  }
  return last;
}

void ExpectSuccess(LocalRun& run) {
  const auto end = run.WaitForEnd(kLong);
  ASSERT_TRUE(end.ok()) << end.status();
  ASSERT_EQ(end->code, kExitOk) << run.Output();
}

// Returns the last line with a loss of an undisturbed run of `job`. Trains it at the first call.
const std::string& UndisturbedLoss(const std::string& job) {
  static auto& losses = *new std::map<std::string, std::string>();
  const auto [known, is_new] = losses.try_emplace(job);
  if (!is_new) return known->second;
  const auto run = NewRun(job, job + "-undisturbed");
  EXPECT_TRUE(run->Start().ok());
  ExpectSuccess(*run);
  EXPECT_THAT(run->Output(), Not(HasSubstr("continues from step")));
  EXPECT_THAT(run->Output(), Not(HasSubstr("UserWarning")));
  known->second = LastLoss(*run);
  EXPECT_THAT(known->second, HasSubstr("step 300 loss "));
  return known->second;
}

// Kills a rank once the first checkpoint is there, and expects the run to end with the loss of the
// undisturbed run.
void ExpectTheSameLossAfterAKill(const std::string& job) {
  const std::string& undisturbed = UndisturbedLoss(job);
  const auto disturbed = NewRun(job, job + "-disturbed");
  ASSERT_TRUE(disturbed->Start().ok());
  const absl::Status saved = disturbed->WaitForOutput("step 20 loss", kLong);
  ASSERT_TRUE(saved.ok()) << saved;
  const std::vector<pid_t> ranks = disturbed->Trainers();
  ASSERT_THAT(ranks, SizeIs(2));
  ASSERT_EQ(kill(ranks[1], SIGKILL), 0);
  ExpectSuccess(*disturbed);
  EXPECT_THAT(disturbed->Output(), HasSubstr("continues from step"));
  EXPECT_EQ(LastLoss(*disturbed), undisturbed);
}

TEST(PytorchExamplesTest, AKilledDdpScriptEndsWithTheLossOfAnUndisturbedOne) {
  ExpectTheSameLossAfterAKill("pytorch-ddp");
}

TEST(PytorchExamplesTest, AKilledFsdpScriptEndsWithTheLossOfAnUndisturbedOne) {
  ExpectTheSameLossAfterAKill("pytorch-fsdp");
}

// Gives the job another number of workers, and waits until the script goes on with them.
void Scale(LocalRun& run, int workers) {
  run.Signal(SIGKILL);
  run.SetManifest(absl::StrReplaceAll(ManifestOf("pytorch-fsdp"),
                                      {{"count: 2", absl::StrCat("count: ", workers)}}));
  ASSERT_TRUE(run.Start().ok());
  const absl::Status continued = run.WaitForOutput(absl::StrCat("on ", workers, " ranks"), kLong);
  ASSERT_TRUE(continued.ok()) << continued;
}

double NumberAfter(const std::string& line, const std::string& word) {
  double number = std::numeric_limits<double>::quiet_NaN();
  const size_t at = line.find(word);
  if (at != line.npos) EXPECT_TRUE(absl::SimpleAtod(line.substr(at + word.size()), &number));
  return number;
}

// Each change of size ends all processes of the script, after they have saved.
TEST(PytorchExamplesTest, AFsdpScriptGrowsAndShrinksWithTheLossOfAnUndisturbedOne) {
  const auto run = NewRun("pytorch-fsdp", "fsdp-scaled");
  ASSERT_TRUE(run->Start().ok());
  const absl::Status saved = run->WaitForOutput("step 20 loss", kLong);
  ASSERT_TRUE(saved.ok()) << saved;
  Scale(*run, 3);
  Scale(*run, 1);
  ExpectSuccess(*run);
  const std::string last = LastLoss(*run);
  EXPECT_THAT(last, HasSubstr("step 300 loss "));
  // Sums over other ranks are rounded otherwise.
  EXPECT_NEAR(NumberAfter(last, "loss "), NumberAfter(UndisturbedLoss("pytorch-fsdp"), "loss "),
              5e-3);
}

TEST(PytorchExamplesTest, AFsdpScriptSavesBeforeItIsStoppedAndShowsItsProgress) {
  const auto run = NewRun("pytorch-fsdp", "fsdp-stopped");
  ASSERT_TRUE(run->Start().ok());
  const absl::Status saved = run->WaitForOutput("step 20 loss", kLong);
  ASSERT_TRUE(saved.ok()) << saved;
  ASSERT_TRUE(run->RunTool({"stop", "pytorch-fsdp"}).ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitStopped) << run->Output();
  const auto job = run->Job();
  ASSERT_TRUE(job.ok()) << job.status();
  const Json& progress = (*job)["status"]["progress"];
  EXPECT_GE(progress["step"].get<int64_t>(), 20);
  EXPECT_EQ(progress["steps"], 300);
  EXPECT_THAT(LastLoss(*run),
              HasSubstr(absl::StrCat("step ", progress["step"].get<int64_t>(), " ")))
      << "the last step is saved";
  EXPECT_EQ((*job)["status"]["checkpoint"]["step"], progress["step"]);
}

}  // namespace
}  // namespace muster::tests
