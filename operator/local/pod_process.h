#ifndef MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_
#define MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "operator/local/pod_command.h"
#include "operator/local/pod_status.h"

namespace muster::control {

// The process of one pod, and the files that outlive this process:
//   <folder>/process.json  its identity, written before the start and completed after it
//   <folder>/exit.json     its exit code, written by the process itself if it could
//   <folder>/logs/         its output (agent.log, rotated at 16 MiB) and its ranks' logs
// All descendants carry its mark (base/process/process_mark.h), which is derived from the pod's UID
// and so known after a restart. When the process has ended, they are killed before the end is
// reported.
//
// Not thread-safe.
class PodProcess {
 public:
  struct Context {
    Files& files;
    ProcessLauncher& launcher;
    const Clock& clock;
  };

  // Starts a process for a pod that never had one. Never fails: a process that could not be started
  // counts as ended, with state().start_error.
  static std::unique_ptr<PodProcess> Start(Context context, std::string name, std::string uid,
                                           std::string folder, PodCommand command);
  // Returns the ended process of a pod that cannot run here at all.
  static std::unique_ptr<PodProcess> Refused(Context context, std::string name, std::string uid,
                                             std::string folder, const absl::Status& why);
  // Recovers the process that an earlier LocalNodes left in `folder`, running or ended meanwhile.
  // NotFound if none was ever started there.
  static absl::StatusOr<std::unique_ptr<PodProcess>> Recover(Context context, std::string folder);

  const std::string& name() const { return name_; }  // namespace/pod
  const std::string& uid() const { return uid_; }
  const std::string& folder() const { return folder_; }
  // The GPUs that it was given when it was started, by UUID.
  const std::vector<std::string>& gpus() const { return gpus_; }
  pid_t pid() const { return process_ == nullptr ? 0 : process_->pid(); }
  int poll_fd() const { return running() ? process_->poll_fd() : -1; }
  bool running() const { return !state_.exit.has_value(); }
  const ContainerState& state() const { return state_; }

  // Checks for the end of the process, and sends a SIGKILL that is due.
  void RunOnce();
  // Sends SIGTERM now and SIGKILL after `grace`. A further call can only shorten the grace.
  void Stop(absl::Duration grace);

 private:
  PodProcess(Context context, std::string name, std::string uid, std::string folder);
  absl::Status Launch(PodCommand command);
  absl::Status Record();
  void SetNotStarted(const absl::Status& why);
  void SetEnded(ExitStatus exit);
  std::optional<int> ReadExitFile() const;
  void RotateLog();
  void KillAll();

  const Context context_;
  const std::string name_;
  const std::string uid_;
  const std::string folder_;
  std::vector<std::string> gpus_;
  std::unique_ptr<Process> process_;
  ContainerState state_;
  bool stopping_ = false;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_
