// Tests `muster run` as its user sees it: exit codes, messages, and the files it leaves.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/testing/patience.h"
#include "cli/jobs/history.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: STEPS, globalBatch: 4, microBatch: 2, sequence: 64, validateEvery: 20, validateBatches: 2}
    optimizer: {learningRate: 3.0e-3, warmupSteps: 5}
  checkpoint: {uri: $FOLDER/checkpoints, interval: {mode: Steps, steps: 20}}
)";

std::string Manifest(int steps) {
  return absl::StrReplaceAll(kManifest, {{"STEPS", absl::StrCat(steps)}});
}

std::unique_ptr<LocalRun> NewRun(const std::string& name, const std::string& job,
                                 const std::string& manifest) {
  const std::string folder = FreshFolder(name);
  std::string text;
  while (text.size() < 40'000) {
    absl::StrAppend(&text, "In the beginning was the round, and every rank was in it. ",
                    text.size() % 7, "\n");
  }
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", text).ok());
  return std::make_unique<LocalRun>(folder, job, manifest);
}

TEST(RunTest, TrainsCheckpointsAndSummarises) {
  auto run = NewRun("trains", "small", Manifest(40));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run->Output();
  const auto history = cli::History::Load(FileSystem(), run->folder() + "/state/small/steps.jsonl");
  ASSERT_TRUE(history.ok());
  ASSERT_EQ((*history)->steps().size(), 40u) << run->Output();
  EXPECT_LT((*history)->steps().at(40).loss(), (*history)->steps().at(1).loss() * 0.8);
  EXPECT_TRUE((*history)->steps().at(40).has_validation_loss());
  EXPECT_TRUE(Exists(FileSystem(), run->Checkpoints() + "/step-000000040/DONE")) << run->Output();
  EXPECT_TRUE(Exists(FileSystem(), run->Checkpoints() + "/loss.svg"));
  const std::string output = run->Output();
  EXPECT_THAT(output, HasSubstr("small: Succeeded"));
  EXPECT_THAT(output, HasSubstr("40 of 40"));
  EXPECT_THAT(output, HasSubstr("unigram entropy"));
  EXPECT_TRUE(run->Agents().empty());
}

TEST(RunTest, AFinishedJobIsNotTrainedAgainAndMoreStepsGoOnFromItsCheckpoint) {
  auto run = NewRun("again", "small", Manifest(20));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_EQ(run->WaitForEnd(kPatience)->code, kExitOk) << run->Output();
  EXPECT_THAT(run->Output(), Not(HasSubstr("Nothing was run now")));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_EQ(run->WaitForEnd(kPatience)->code, kExitOk) << run->Output();
  EXPECT_EQ(run->last_step(), 20);
  EXPECT_THAT(run->Output(),
              HasSubstr("job small had already ended: Succeeded. Nothing was run now.\n"
                        "to run it anew, add --fresh"));
  run->SetManifest(Manifest(30));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_EQ(run->WaitForEnd(kPatience)->code, kExitOk) << run->Output();
  EXPECT_EQ(run->last_step(), 30) << run->Output();
  EXPECT_TRUE(Exists(FileSystem(), run->Checkpoints() + "/step-000000030/DONE"));
}

TEST(RunTest, InterruptSavesACheckpointAndTheSameCommandGoesOn) {
  auto run = NewRun("interrupt", "small", Manifest(400));
  ASSERT_TRUE(run->Start().ok());
  const absl::Status reached = run->WaitForStep(10, kPatience);
  ASSERT_TRUE(reached.ok()) << reached;
  run->Signal(SIGINT);
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitSignalBase + SIGINT) << run->Output();
  EXPECT_THAT(run->Output(), ContainsRegex("go on with: muster resume small --state-dir /[^ ]*\n"));
  EXPECT_TRUE(run->Agents().empty());
  const int64_t stopped_at = run->last_step();
  EXPECT_LT(stopped_at, 400);
  ASSERT_TRUE(NewestTensors(run->Checkpoints()).ok()) << run->Output();
  ASSERT_TRUE(run->Start().ok());
  const absl::Status went_on = run->WaitForStep(stopped_at + 10, kPatience);
  EXPECT_TRUE(went_on.ok()) << went_on;
}

// Regression: a terminal that was closed left workers without an operator.
TEST(RunTest, AHangUpSavesACheckpointAsCtrlCDoes) {
  auto run = NewRun("hang-up", "small", Manifest(100'000));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_TRUE(run->WaitForStep(10, kPatience).ok()) << run->Output();
  run->Signal(SIGHUP);
  run->Signal(SIGHUP);
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitSignalBase + SIGINT) << run->Output();
  const auto job = run->Job();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["status"]["state"], "Suspended");
  EXPECT_EQ((*job)["status"]["checkpoint"]["step"], run->last_step());
}

TEST(RunTest, DetachedItReturnsOnceTheJobRunsAndStopStopsIt) {
  auto run = NewRun("detached", "small", Manifest(100'000));
  ASSERT_TRUE(run->Start({"--detach"}).ok());
  auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run->Output();
  const std::string log = run->folder() + "/state/small/run.log";
  EXPECT_THAT(run->Output(), HasSubstr(absl::StrCat("its output is in ", log)));
  // A second one is refused on the terminal, with its own code.
  ASSERT_TRUE(run->Start({"--detach"}).ok());
  end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitRefused) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("job small is running already (pid "));

  const auto deadline = Clock::Real().Monotonic() + kPatience;
  while (run->last_step() < 10 && Clock::Real().Monotonic() < deadline) poll(nullptr, 0, 20);
  ASSERT_GE(run->last_step(), 10) << run->Output();
  const auto stopped = run->RunTool({"stop", "small"});
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->exit.code, kExitOk) << stopped->out;
  const absl::Status ended = run->WaitForNoAgents(kPatience);
  EXPECT_TRUE(ended.ok()) << ended;
  std::string said;
  while (Clock::Real().Monotonic() < deadline) {
    said = ReadFile(FileSystem(), log).value_or("");
    if (said.find("go on with: muster resume small") != std::string::npos) break;
    poll(nullptr, 0, 20);
  }
  EXPECT_THAT(said, HasSubstr("go on with: muster resume small"));
}

TEST(RunTest, ASecondRunOfTheSameJobIsRefused) {
  auto run = NewRun("second", "small", Manifest(2000));
  ASSERT_TRUE(run->Start().ok());
  ASSERT_TRUE(run->WaitForStep(1, kPatience).ok()) << run->Output();
  LocalRun second(run->folder(), "small", Manifest(2000));
  ASSERT_TRUE(second.Start().ok());
  const auto end = second.WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitRefused);
  EXPECT_THAT(run->Output(), HasSubstr("is running already"));
}

TEST(RunTest, ATakenPortIsRefusedAndNothingIsStarted) {
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string http = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  auto run = NewRun("port", "small", Manifest(10));
  ASSERT_TRUE(run->Start({"--http", http}).ok());
  const auto end = run->WaitForEnd(kPatience);
  close(taken);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitFailed) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr(absl::StrCat("cannot listen for HTTP on ", http,
                                                    ": the port may be taken")));
  EXPECT_TRUE(run->Agents().empty());
  EXPECT_FALSE(Exists(FileSystem(), run->Checkpoints()));
  EXPECT_FALSE(run->Job().ok()) << "the job was written";
}

TEST(RunTest, ABadManifestStartsNothing) {
  auto run = NewRun("bad", "small",
                    absl::StrReplaceAll(Manifest(10), {{"globalBatch: 4", "globalBatch: 5"}}));
  ASSERT_TRUE(run->Start().ok());
  EXPECT_EQ(run->WaitForEnd(kPatience)->code, kExitBadInput);
  EXPECT_THAT(
      run->Output(),
      HasSubstr(
          "manifest.yaml:10: spec.trainer.train.globalBatch: must be a multiple of microBatch"));
  EXPECT_FALSE(Exists(FileSystem(), run->folder() + "/state/small"));
}

TEST(RunTest, MissingDataFailsTheJobWithTheReason) {
  auto run =
      NewRun("nodata", "small", absl::StrReplaceAll(Manifest(10), {{"text.txt", "missing.txt"}}));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitBadInput) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("missing.txt"));
  EXPECT_TRUE(run->Agents().empty());
}

// A trainer never computes on the CPU where its spec says GPUs.
TEST(RunTest, GpusThatThisMachineLacksAreNamed) {
  auto run =
      NewRun("gpus", "small",
             absl::StrReplaceAll(Manifest(10), {{"count: 2, ranks: 1", "count: 2, gpus: 1"}}));
  run->AddEnvironment("MUSTER_NVML=libno_such_nvml.so");
  ASSERT_TRUE(run->Start().ok());
  EXPECT_EQ(run->WaitForEnd(kPatience)->code, kExitDoesNotFit) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("muster: job small can never run on this machine: "
                                       "spec.workers.gpus: 2 workers want 1 GPU each, and this "
                                       "machine has none (NVML is not here: libno_such_nvml.so: "));
  EXPECT_THAT(run->Output(), HasSubstr("): leave workers.gpus out to train on its CPUs\n"));
  EXPECT_FALSE(Exists(FileSystem(), run->folder() + "/state/small"));
}

// The message must never name a checkpoint that is only partly written.
TEST(RunTest, StoppedAtOnceItNamesTheNewestWholeCheckpointOrNone) {
  auto run = NewRun("twice", "small", Manifest(100'000));
  ASSERT_TRUE(run->Start().ok());
  const absl::Status reached = run->WaitForStep(5, kPatience);
  ASSERT_TRUE(reached.ok()) << reached;
  // Creates the directory of an interrupted save. Then sends two different signals, because two of
  // one kind might be merged.
  ASSERT_TRUE(FileSystem().MakeDirectories(run->Checkpoints() + "/step-000099999.r7").ok());
  run->Signal(SIGINT);
  run->Signal(SIGTERM);
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitSignalBase + SIGINT) << run->Output();
  EXPECT_TRUE(run->Agents().empty());
  const auto whole = NewestTensors(run->Checkpoints());
  const std::string said =
      whole.ok()
          ? absl::StrCat("muster: stopped at once; the newest whole checkpoint is ",
                         run->Checkpoints(), "/", whole->front().first.substr(0, 14), "\n")
          : "muster: stopped at once; no checkpoint is whole, so training would begin anew\n";
  // If the second signal came too late, the job has been suspended instead.
  EXPECT_THAT(run->Output(), AnyOf(HasSubstr(said), HasSubstr("small: Suspended")));
  EXPECT_THAT(run->Output(), HasSubstr("go on with: muster resume small"));
}

constexpr char kCommand[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: command}
spec:
  workers: {count: 2, ranks: 2}
  template:
    spec:
      containers:
      - name: worker
        command: [sh, -c, SCRIPT]
  failurePolicy: {maxFailures: 2, window: 1h}
)";

TEST(RunTest, ACommandRunsOncePerRankWithTorchrunsEnvironment) {
  auto run = NewRun("command", "command",
                    absl::StrReplaceAll(kCommand, {{"SCRIPT",
                                                    "'echo $RANK $LOCAL_RANK $WORLD_SIZE > "
                                                    "$FOLDER/rank-$RANK'"}}));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run->Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(
        ReadFile(FileSystem(), absl::StrCat(run->folder(), "/rank-", rank)).value_or("missing"),
        absl::StrCat(rank, " ", rank % 2, " 4\n"));
  }
}

// Such a job must not wait for ever in silence.
TEST(RunTest, AJobThatNeverFitsOnThisMachineSaysWhyAndEndsWithItsOwnCode) {
  auto run = NewRun("never", "command",
                    absl::StrReplaceAll(
                        kCommand, {{"SCRIPT]", "'exit 0']\n        resources: {limits: {cpu: 9k}}"},
                                   {"count: 2, ranks: 2", "count: 1"}}));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitDoesNotFit) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("why=\"a worker asks for 9000 CPUs"));
  EXPECT_THAT(run->Output(), HasSubstr("muster: job command can never run on this machine: a "
                                       "worker asks for 9000 CPUs"));
  EXPECT_TRUE(run->Agents().empty());
  // A job that never ran leaves no state that the corrected manifest would take over.
  run->SetManifest(absl::StrReplaceAll(kCommand, {{"SCRIPT", "'exit 0'"}}));
  ASSERT_TRUE(run->Start().ok());
  EXPECT_EQ(run->WaitForEnd(kPatience)->code, kExitOk) << run->Output();
}

// checkpoint.uri takes effect for a command, too.
TEST(RunTest, ACommandFindsItsCheckpointDirectoryMade) {
  auto run = NewRun(
      "directory", "command",
      absl::StrCat(absl::StrReplaceAll(
                       kCommand, {{"SCRIPT", "'echo saved > \"$MUSTER_CHECKPOINT_DIR/$RANK\"'"}}),
                   "  checkpoint: {uri: saved/here}\n"));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run->Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ReadFile(FileSystem(), absl::StrCat(run->folder(), "/saved/here/", rank))
                  .value_or("missing"),
              "saved\n")
        << "a relative uri begins where `muster run` was called";
  }
}

TEST(RunTest, OutputOfACommandAppearsLiveWithItsRank) {
  auto run = NewRun("live", "command",
                    absl::StrReplaceAll(kCommand, {{"SCRIPT",
                                                    "'echo hello; while [ ! -e $FOLDER/go ]; do "
                                                    "sleep 0.05; done; echo bye'"}}));
  ASSERT_TRUE(run->Start().ok());
  for (int rank = 0; rank < 4; ++rank) {
    const absl::Status shown =
        run->WaitForOutput(absl::StrCat("[rank ", rank, "] hello\n"), kPatience);
    ASSERT_TRUE(shown.ok()) << shown;
  }
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), run->folder() + "/go", "").ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitOk) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("[rank 3] bye\n"));
}

TEST(RunTest, RecoveringSaysWhichRankFailedHowAndWhichTryThisIs) {
  // The back-off before the last try leaves time to see the message.
  auto run =
      NewRun("why", "command",
             absl::StrReplaceAll(kCommand, {{"SCRIPT", "'[ $RANK = 1 ] && exit 7; sleep 600'"},
                                            {"maxFailures: 2",
                                             "maxFailures: 2, maxIdenticalFailures: 0, "
                                             "initialBackoff: 1m"}}));
  ASSERT_TRUE(run->Start().ok());
  const absl::Status said =
      run->WaitForOutput("why=\"rank 1 ended with exit code 7 (Exited); try 3 of 3\"", kPatience);
  EXPECT_TRUE(said.ok()) << said;
}

TEST(RunTest, ACommandThatKeepsFailingFailsTheJobWithItsLog) {
  auto run = NewRun("failing", "command",
                    absl::StrReplaceAll(kCommand, {{"SCRIPT", "'echo no such luck; exit 7'"}}));
  ASSERT_TRUE(run->Start().ok());
  const auto end = run->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitFailed) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("exit code 7"));
}

}  // namespace
}  // namespace muster::tests
