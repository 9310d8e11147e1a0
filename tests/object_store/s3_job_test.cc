// Jobs of real processes whose checkpoints are objects of a real S3-compatible server.
#include <poll.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/object_store/storage.h"
#include "cli/jobs/rank_output.h"
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
constexpr int kLookMillis = 50;

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

  // Expects that the run ends so, in its first round.
  void ExpectUndisturbedEnd(LocalRun& run, int steps) {
    const auto end = run.WaitForEnd(kLong);
    ASSERT_TRUE(end.ok() && end->code == kExitOk) << run.Output();
    EXPECT_EQ(RoundOf(run), 1) << run.Output();
    ExpectUndisturbedFiles(steps);
  }

  static constexpr char kUri[] = "s3://checkpoints/team/run";
  std::unique_ptr<S3Server> server_;
  std::unique_ptr<Files> files_;
};

// Waits until the job, which must still be training, has a durable checkpoint of `step` or later.
void AwaitSavedStep(const LocalRun& run, int64_t step) {
  const absl::Time deadline = Clock::Real().Monotonic() + kLong;
  while (Clock::Real().Monotonic() < deadline) {
    const auto job = run.Job();
    const Json status = job.ok() ? job->value("status", Json::object()) : Json::object();
    ASSERT_NE(status.value("state", ""), "Succeeded") << "the job ended before it had saved";
    const Json checkpoint = status.value("checkpoint", Json::object());
    if (checkpoint.value("step", int64_t{0}) >= step) return;
    poll(nullptr, 0, kLookMillis);
  }
  FAIL() << "no checkpoint of step " << step << run.Output();
}

// Collects what the trainers of a run log.
class TrainerLogs {
 public:
  explicit TrainerLogs(const LocalRun& run)
      : output_(FileSystem(), run.folder() + "/state/faults/pods") {}

  const std::string& Read() { return lines_ += output_.TakeLines(); }
  // Returns the steps whose saves were skipped because the store does not answer.
  std::set<int64_t> SkippedSaves() {
    std::set<int64_t> steps;
    for (const absl::string_view line : absl::StrSplit(Read(), '\n')) {
      if (!absl::StrContains(line, "; the storage has been failing for ")) continue;
      const std::vector<std::string> parts =
          absl::StrSplit(line, "a checkpoint is skipped; training goes on step=");
      const std::vector<std::string> words = absl::StrSplit(parts.back(), ' ');
      int64_t step = 0;
      if (parts.size() == 2 && absl::SimpleAtoi(words[0], &step)) steps.insert(step);
    }
    return steps;
  }
  // Waits until `count` of them were skipped.
  std::set<int64_t> AwaitSkippedSaves(size_t count) {
    const absl::Time deadline = Clock::Real().Monotonic() + kLong;
    std::set<int64_t> steps = SkippedSaves();
    while (steps.size() < count && Clock::Real().Monotonic() < deadline) {
      poll(nullptr, 0, kLookMillis);
      steps = SkippedSaves();
    }
    return steps;
  }

 private:
  cli::RankOutput output_;
  std::string lines_;
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
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, 1));
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
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, 1));
  const std::vector<pid_t> trainers = run->Trainers();
  ASSERT_EQ(trainers.size(), 2u) << run->Output();
  kill(trainers[1], SIGKILL);
  ExpectUndividedState(*run, kSteps, *files_, [this] { return Newest(); });
  EXPECT_THAT(run->Output(), HasSubstr("; loading step-0000000"));
}

TEST_F(S3JobTest, ACheckpointInTheStoreIsLoadedByAnotherNumberOfRanksThatDivideItOtherwise) {
  constexpr int kSteps = 120;
  DisturbedJobSpec job = {.steps = kSteps, .save_every = 15, .parallelism = "{zero: 3}"};
  auto run = New("other-layout", job);
  ASSERT_TRUE(run->Start().ok());
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, 1));
  KillAll(*run);
  job.checkpoints = Checkpoints();
  job.workers = 3;
  job.parallelism = "{zero: 1}";
  run->SetManifest(ManifestOf(job));
  ASSERT_TRUE(run->Start().ok());
  ExpectUndividedState(*run, kSteps, *files_, [this] { return Newest(); });
  EXPECT_THAT(run->Output(), HasSubstr("; loading step-0000000"));
}

// The save that finds the store gone is tried for a minute. Those that come due meanwhile are
// skipped, and the first one after it is whole.
TEST_F(S3JobTest, AStoreThatIsDownForAWhileStopsNoStep) {
  constexpr int kSteps = 1000;
  auto run = New("outage", {.steps = kSteps, .save_every = 20});
  TrainerLogs logs(*run);
  ASSERT_TRUE(run->Start().ok());
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, 1));
  server_->Kill();
  const std::set<int64_t> skipped = logs.AwaitSkippedSaves(3);
  ASSERT_GE(skipped.size(), 3u) << run->Output();
  ASSERT_TRUE(server_->Restart().ok());
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, *skipped.rbegin() + 1));
  ExpectUndisturbedEnd(*run, kSteps);
  EXPECT_THAT(logs.Read(), Not(HasSubstr("step broke off")));
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

// The keys are rotated while the job trains: the store takes new ones only, which are mounted.
TEST_F(S3JobTest, AJobWhoseKeysAreReplacedSavesOn) {
  constexpr int kSteps = 1000;
  const std::string keys = absl::StrCat(getenv("TEST_TMPDIR"), "/mounted-keys");
  const auto mount = [&keys](const std::string& id, const std::string& secret) {
    return WriteFileAtomically(FileSystem(), keys,
                               absl::StrCat("[default]\naws_access_key_id = ", id,
                                            "\naws_secret_access_key = ", secret, "\n"));
  };
  ASSERT_TRUE(mount(S3Server::kKeyId, S3Server::kSecret).ok());
  auto run = NewRun("rotated", {.steps = kSteps, .save_every = 20, .checkpoints = Checkpoints()});
  run->AddEnvironment(absl::StrCat("AWS_SHARED_CREDENTIALS_FILE=", keys));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_NO_FATAL_FAILURE(AwaitSavedStep(*run, 1));
  ASSERT_TRUE(mount("rotated", "another-secret").ok());
  ASSERT_TRUE(server_->RestartWithKeys({"rotated", "another-secret", ""}).ok());
  server_->SetVariables();
  auto files = OpenObjectStore(server_->address());
  ASSERT_TRUE(files.ok()) << files.status();
  files_ = *std::move(files);
  ExpectUndisturbedEnd(*run, kSteps);
}

TEST_F(S3JobTest, AJobWithoutKeysSaysWhereItLookedForThem) {
  auto run = NewRun("no-keys", {.checkpoints = Checkpoints()});
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kLong);
  ASSERT_TRUE(end.ok()) << run->Output();
  EXPECT_EQ(end->code, kExitBadInput) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("the environment names no source of them; looked for"));
}

}  // namespace
}  // namespace muster::tests
