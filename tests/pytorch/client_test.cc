// Tests agent/client/muster.py against the real agent: a script of the job's own in `muster run`.

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::SizeIs;

// Counts up to --last, or until told to end; saves the count when a checkpoint is wanted. Each
// start adds the count that it begins with as a line to `starts`.
constexpr char kScript[] = R"(
import os, pathlib, socket, sys, time
import muster

folder = pathlib.Path(sys.argv[1])
saved = folder / "saved"
step = int(saved.read_text()) if saved.exists() else 0
if os.environ["RANK"] == "0":
    with open(folder / "starts", "a") as starts:
        starts.write(f"{step}\n")
if "--rude" in sys.argv:
    for packet in (b"not json", b'{"report": {"step": "one"}}', b"x" * 100000):
        rude = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        rude.connect(os.environ["MUSTER_AGENT_SOCKET"])
        rude.send(packet)
        while rude.recv(4096):
            pass
while not (folder / "end").exists():
    step += 1
    wanted = muster.should_checkpoint()
    if wanted and os.environ["RANK"] == "0":
        saved.with_suffix(".new").write_text(str(step))
        saved.with_suffix(".new").rename(saved)
    muster.report(step, 8.0 / step, tokens=100, steps=1000000, checkpoint="saved" if wanted else None)
    if muster.leaving_in() is not None:
        sys.exit()
    time.sleep(0.01)
)";

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: counting}
spec:
  workers: {count: 2, ranks: 1}
  template:
    spec:
      containers:
        - name: worker
          command: [python3, $FOLDER/count.py, $FOLDER$ARGUMENTS]
          env: [{name: PYTHONPATH, value: $CLIENT}, {name: PYTHONDONTWRITEBYTECODE, value: "1"}]
  checkpoint: {uri: $FOLDER/checkpoints}
  failurePolicy: {initialBackoff: 100ms}
)";

std::string Manifest(const std::string& arguments = "") {
  return absl::StrReplaceAll(kManifest,
                             {{"$ARGUMENTS", arguments}, {"$CLIENT", ProgramPath("agent/client")}});
}

class ClientTest : public testing::Test {
 protected:
  void Start(const std::string& name, const std::string& arguments = "") {
    const std::string folder = FreshFolder(name);
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder + "/count.py", kScript).ok());
    run_.emplace(folder, "counting", Manifest(arguments));
    ASSERT_TRUE(run_->Start().ok());
  }
  void WaitForStep(int64_t step) {
    const absl::Status reached = run_->WaitForStep(step, kPatience);
    ASSERT_TRUE(reached.ok()) << reached;
  }
  // Lets the script end by itself, and returns the job then.
  Json End() {
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), run_->folder() + "/end", "").ok());
    const auto end = run_->WaitForEnd(kPatience);
    EXPECT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->code, kExitOk) << run_->Output();
    return run_->Job().value_or(Json::object());
  }
  // The counts that the script's starts began with.
  std::vector<int> Starts() const {
    std::vector<int> starts;
    const auto text = ReadFile(FileSystem(), run_->folder() + "/starts");
    for (const auto line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
      int step = -1;
      EXPECT_TRUE(absl::SimpleAtoi(line, &step)) << line;
      starts.push_back(step);
    }
    return starts;
  }

  std::optional<LocalRun> run_;
};

TEST_F(ClientTest, StepsAndLossOfAScriptAreInTheStatusAndInTheCurve) {
  Start("client-progress");
  WaitForStep(20);
  const Json job = End();
  const Json& progress = job["status"]["progress"];
  const int64_t step = progress["step"].get<int64_t>();
  EXPECT_GE(step, 20);
  EXPECT_EQ(progress["steps"], 1000000);
  EXPECT_DOUBLE_EQ(progress["loss"].get<double>(), 8.0 / static_cast<double>(step));
  EXPECT_GT(progress["tokensPerSecond"].get<double>(), 0);
  EXPECT_EQ(run_->last_step(), step) << "muster run keeps the curve";
}

TEST_F(ClientTest, AStopLetsTheScriptSaveAndItGoesOnFromThere) {
  Start("client-stop");
  WaitForStep(20);
  ASSERT_TRUE(run_->RunTool({"stop", "counting"}).ok());
  const auto end = run_->WaitForEnd(kPatience);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitStopped) << run_->Output();
  const Json stopped = run_->Job().value_or(Json::object());
  const int64_t saved = stopped["status"]["checkpoint"]["step"].get<int64_t>();
  EXPECT_GE(saved, 20);
  EXPECT_EQ(stopped["status"]["checkpoint"]["uri"], run_->Checkpoints() + "/saved");
  ASSERT_TRUE(run_->Resume().ok());
  WaitForStep(saved + 10);
  End();
  EXPECT_THAT(Starts(), testing::ElementsAre(0, static_cast<int>(saved)));
}

TEST_F(ClientTest, TheDeathOfTheAgentLosesNoMoreThanItsWorker) {
  Start("client-agent-dies");
  WaitForStep(20);
  const std::vector<pid_t> agents = run_->Agents();
  ASSERT_THAT(agents, SizeIs(2));
  for (const pid_t agent : agents) ASSERT_EQ(kill(agent, SIGKILL), 0);
  const auto started_again = run_->WaitForCondition("Running", "True", "RoundActive", kPatience);
  ASSERT_TRUE(started_again.ok()) << started_again.status();
  while (Starts().size() < 2) WaitForStep(1);
  const Json job = End();
  EXPECT_GT(job["status"]["progress"]["step"].get<int64_t>(), 0);
  EXPECT_GE(job["status"]["round"].get<int64_t>(), 2);
}

TEST_F(ClientTest, WhatIsNoReportIsCutOffAndTheScriptsReportsCount) {
  Start("client-rude", ", --rude");
  WaitForStep(20);
  const Json job = End();
  EXPECT_GE(job["status"]["progress"]["step"].get<int64_t>(), 20);
  EXPECT_THAT(Starts(), SizeIs(1)) << "nothing failed";
}

}  // namespace
}  // namespace muster::tests
