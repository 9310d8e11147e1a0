#ifndef MUSTER_TESTS_INTEGRATION_LOCAL_RUN_H_
#define MUSTER_TESTS_INTEGRATION_LOCAL_RUN_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process.h"

namespace muster::tests {

// What another `muster` command did.
struct ToolResult {
  ExitStatus exit;
  std::string out;  // stdout and stderr
};

// The real `muster run` on a manifest, as a child process with a folder of its own, for tests that
// kill parts of it. Whatever it started is gone when it is destroyed. One thread.
class LocalRun {
 public:
  // `folder` gets manifest.yaml, state/ and out.log; paths in the manifest may start with $FOLDER.
  LocalRun(std::string folder, std::string job, std::string manifest);
  ~LocalRun();

  // Gives the job another manifest.
  void SetManifest(const std::string& manifest) const;
  // Starts `muster run` (again, after it was killed), with more flags if given.
  absl::Status Start(const std::vector<std::string>& flags = {});
  // Starts `muster resume` instead.
  absl::Status Resume();
  // Waits until the newest reported step is at least `step`.
  absl::Status WaitForStep(int64_t step, absl::Duration within);
  // Waits until the job has the condition with this status and reason; its message.
  absl::StatusOr<std::string> WaitForCondition(const std::string& type, const std::string& status,
                                               const std::string& reason, absl::Duration within);
  // Waits until `muster run` has printed `text`; it must be running still.
  absl::Status WaitForOutput(const std::string& text, absl::Duration within);
  // Waits for `muster run` to end.
  absl::StatusOr<ExitStatus> WaitForEnd(absl::Duration within);
  void Signal(int signal);
  // Runs `muster ARGUMENTS...` on the same state directory, to its end.
  absl::StatusOr<ToolResult> RunTool(const std::vector<std::string>& arguments) const;
  // The job as `muster get --json` prints it.
  absl::StatusOr<Json> Job() const;

  pid_t operator_pid() const { return process_ == nullptr ? 0 : process_->pid(); }
  // Running worker agents, and the processes they started, by pid.
  std::vector<pid_t> Agents() const;
  std::vector<pid_t> Trainers() const;

  // Waits until no agent is left, and so no process of one.
  absl::Status WaitForNobody(absl::Duration within) const;

  int64_t last_step() const;
  // What `muster run` printed, for a failed assertion.
  std::string Output() const;
  const std::string& folder() const { return folder_; }
  std::string Checkpoints() const { return folder_ + "/checkpoints"; }

 private:
  absl::StatusOr<std::unique_ptr<Process>> Launch(std::vector<std::string> arguments,
                                                  const std::string& out) const;
  absl::Status StartWith(std::vector<std::string> arguments);

  std::string folder_;
  std::string job_;
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
