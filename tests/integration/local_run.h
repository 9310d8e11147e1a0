#ifndef MUSTER_TESTS_INTEGRATION_LOCAL_RUN_H_
#define MUSTER_TESTS_INTEGRATION_LOCAL_RUN_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process/process.h"

namespace muster::tests {

// The exit status and output of a `muster` command.
struct ToolResult {
  ExitStatus exit;
  std::string out;  // stdout and stderr
};

// Runs the real `muster run` on a manifest, as a child process with a folder of its own, for tests
// that kill parts of it. The destructor ends everything that it started. Not thread-safe.
class LocalRun {
 public:
  // `folder` gets manifest.yaml, state/ and out.log; paths in the manifest may start with $FOLDER.
  LocalRun(std::string folder, std::string job, std::string manifest);
  ~LocalRun();

  // Adds NAME=VALUE to the environment of all programs that are started from now on.
  void AddEnvironment(std::string variable) { environment_.push_back(std::move(variable)); }
  // Programs that are started from now on have none of those.
  void ClearEnvironment() { environment_.clear(); }
  // Uses another program in place of the trainer.
  void SetTrainer(std::string path) { trainer_ = std::move(path); }
  // Replaces the job's manifest.
  void SetManifest(const std::string& manifest) const;
  // Starts `muster run`, possibly again after it was killed, with further flags.
  absl::Status Start(const std::vector<std::string>& flags = {});
  // Starts `muster resume` instead.
  absl::Status Resume();
  // Waits until the newest reported step is at least `step`.
  absl::Status WaitForStep(int64_t step, absl::Duration within);
  // Waits until the job has the condition with this status and reason and returns its message.
  absl::StatusOr<std::string> WaitForCondition(const std::string& type, const std::string& status,
                                               const std::string& reason, absl::Duration within);
  // Waits until `muster run`, which must still be running, has printed `text`.
  absl::Status WaitForOutput(const std::string& text, absl::Duration within);
  // Waits for `muster run` to end.
  absl::StatusOr<ExitStatus> WaitForEnd(absl::Duration within);
  void Signal(int signal);
  // Runs `muster ARGUMENTS...` on the same state directory, to its end.
  absl::StatusOr<ToolResult> RunTool(const std::vector<std::string>& arguments) const;
  // The job as `muster get --json` prints it.
  absl::StatusOr<Json> Job() const;

  // Pids of the running worker agents, and of the trainers that they started.
  std::vector<pid_t> Agents() const;
  std::vector<pid_t> Trainers() const;

  // Waits until no agent is left, and therefore none of its processes.
  absl::Status WaitForNoAgents(absl::Duration within) const;

  int64_t last_step() const;
  // The output of `muster run` and the end of the operator's log, for a failed assertion.
  std::string Output() const;
  const std::string& folder() const { return folder_; }
  std::string Checkpoints() const { return folder_ + "/checkpoints"; }

 private:
  absl::StatusOr<std::unique_ptr<Process>> Launch(std::vector<std::string> arguments,
                                                  const std::string& out) const;
  absl::Status StartWith(std::vector<std::string> arguments);

  std::string folder_;
  std::string job_;
  std::string trainer_;  // empty: the built-in one
  std::vector<std::string> environment_;
  std::unique_ptr<Process> process_;
};

// A fresh folder under TEST_TMPDIR.
std::string FreshFolder(const std::string& name);
// Path of a built program that is in the test's data, e.g. "cli/muster".
std::string ProgramPath(const std::string& name);

// Every tensor file (*.safetensors) of the newest complete checkpoint, name -> bytes.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> NewestTensors(
    const std::string& checkpoints);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_INTEGRATION_LOCAL_RUN_H_
