// Jobs of real processes whose checkpoints are objects of a real S3-compatible server.
#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/json.h"
#include "base/object_store/storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "tests/faults/undivided_state.h"
#include "tests/testenv/s3_server.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);

class S3JobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = S3Server::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->SetVariables();
    auto files = OpenObjectStore(server_->address());
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = *std::move(files);
  }

  // Returns the value of DisturbedJobSpec::checkpoints, with the store behind it.
  std::string Checkpoints() const {
    return absl::StrCat(kUri, ", s3: {endpoint: '", server_->endpoint(), "'}");
  }
  std::unique_ptr<LocalRun> New(const std::string& name, DisturbedJobSpec job) const {
    job.checkpoints = Checkpoints();
    auto run = NewRun(name, job);
    run->AddEnvironment(absl::StrCat("AWS_ACCESS_KEY_ID=", S3Server::kKeyId));
    run->AddEnvironment(absl::StrCat("AWS_SECRET_ACCESS_KEY=", S3Server::kSecret));
    return run;
  }
  std::string Newest() {
    const auto listings = ListCheckpoints(*files_, kUri);
    EXPECT_TRUE(listings.ok()) << listings.status();
    if (!listings.ok() || listings->empty() || !listings->front().complete) return "";
    return JoinPath(kUri, listings->front().directory);
  }
  // Returns the files of tensors of the newest checkpoint, by name.
  std::map<std::string, std::string> NewestTensorFiles() {
    std::map<std::string, std::string> out;
    const std::string folder = Newest();
    const auto entries = files_->List(folder);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
      if (!absl::EndsWith(entry.name, ".safetensors")) continue;
      out[entry.name] = ReadFile(*files_, JoinPath(folder, entry.name)).value_or("unreadable");
    }
    return out;
  }

  // Expects that the newest checkpoint has the bytes that a run leaves in a directory.
  void ExpectUndisturbedFiles(int steps) {
    const auto got = NewestTensorFiles();
    const Tensors& want = Undisturbed(steps);
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [path, bytes] : want) {
      const auto found = got.find(BaseName(path));
      ASSERT_NE(found, got.end()) << path;
      EXPECT_TRUE(found->second == bytes) << path << " differs";
    }
  }

  static constexpr char kUri[] = "s3://checkpoints/team/run";
  std::unique_ptr<S3Server> server_;
  std::unique_ptr<Files> files_;
};

void KillAll(LocalRun& run) {
  run.Signal(SIGKILL);
  for (const pid_t pid : run.Agents()) kill(pid, SIGKILL);
  for (const pid_t pid : run.Trainers()) kill(pid, SIGKILL);
  EXPECT_TRUE(run.WaitForEnd(kLong).ok());
  EXPECT_TRUE(run.WaitForNoAgents(kLong).ok());
}

TEST_F(S3JobTest, AKilledJobGoesOnFromTheStoreAndEndsAsInADirectory) {
  constexpr int kSteps = 200;
  auto run = New("killed", {.steps = kSteps});
  ASSERT_TRUE(run->Start().ok());
  // The save of step 30 waits for that of step 15.
  const absl::Status reached = run->WaitForStep(31, kLong);
  ASSERT_TRUE(reached.ok()) << reached << run->Output();
  KillAll(*run);
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok() && end->code == kExitOk) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("loading step-0000000"));
  EXPECT_THAT(run->Output(), Not(HasSubstr(S3Server::kSecret)));
  ExpectUndisturbedFiles(kSteps);
  const auto job = run->Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["checkpoint"].value("uri", ""), Newest());
}

// Each rank reads the parts of the weights that it holds, from files of all ranks.
TEST_F(S3JobTest, ALostSliceIsReadFromTheStore) {
  constexpr int kSteps = 120;
  auto run = New("lost-slice", {.steps = kSteps, .save_every = 15, .parallelism = "{zero: 3}"});
  ASSERT_TRUE(run->Start().ok());
  const absl::Status reached = run->WaitForStep(31, kLong);
  ASSERT_TRUE(reached.ok()) << reached << run->Output();
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  kill(trainers[1], SIGKILL);
  ExpectUndividedState(*run, kSteps, *files_, [this] { return Newest(); });
  EXPECT_THAT(run->Output(), HasSubstr("; loading step-0000000"));
}

TEST_F(S3JobTest, AStoreThatIsDownForAWhileStopsNoStep) {
  constexpr int kSteps = 120;
  auto run = New("outage", {.steps = kSteps, .save_every = 60});
  ASSERT_TRUE(run->Start().ok());
  const absl::Status saved = run->WaitForStep(31, kLong);
  ASSERT_TRUE(saved.ok()) << saved << run->Output();
  server_->Kill();
  const int64_t killed_at = run->last_step();
  const absl::Status trains = run->WaitForStep(killed_at + 5, kLong);
  EXPECT_TRUE(trains.ok()) << trains << run->Output();
  ASSERT_TRUE(server_->Restart().ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok() && end->code == kExitOk) << run->Output();
  EXPECT_EQ(RoundOf(*run), 1) << run->Output();
  ExpectUndisturbedFiles(kSteps);
}

TEST_F(S3JobTest, CheckpointsAreListedExportedAndSetAsideByAFreshRun) {
  auto run = New("tools", {.steps = 20, .save_every = 10});
  ASSERT_TRUE(run->Start().ok());
  ASSERT_TRUE(run->WaitForEnd(kLong).ok());
  const auto list = run->RunTool({"checkpoints", "faults"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->exit.code, kExitOk) << list->out;
  EXPECT_THAT(list->out, HasSubstr(BaseName(Newest())));
  const std::string out = run->folder() + "/model";
  const auto exported =
      run->RunTool({"checkpoints", "export", "faults", "--out", out, "--generator",
                    ProgramPath("trainer/generate/muster-generate")});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->exit.code, kExitOk) << exported->out;
  EXPECT_TRUE(Exists(FileSystem(), out + "/model.safetensors")) << exported->out;
  const std::string first = Newest();
  ASSERT_TRUE(run->Start({"--fresh"}).ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok() && end->code == kExitOk) << run->Output();
  EXPECT_NE(Newest(), first) << "it went on from the earlier run";
  EXPECT_TRUE(Exists(*files_, first + "/DONE")) << "the earlier run was not kept";
  const auto pruned = run->RunTool({"checkpoints", "prune", "faults"});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->exit.code, kExitOk) << pruned->out;
  EXPECT_FALSE(Exists(*files_, first)) << pruned->out;
  EXPECT_TRUE(Exists(*files_, Newest() + "/DONE"));
}

TEST_F(S3JobTest, AJobWithoutKeysSaysWhichVariableIsMissing) {
  auto run = NewRun("no-keys", {.checkpoints = Checkpoints()});
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok()) << run->Output();
  EXPECT_EQ(end->code, kExitBadInput) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("the environment variable AWS_ACCESS_KEY_ID is missing"));
}

}  // namespace
}  // namespace muster::tests
