#ifndef MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_
#define MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "operator/local/pod_command.h"
#include "operator/local/pod_status.h"

namespace muster::control {

// The process of one pod, and the files that outlive this one:
//   <folder>/process.json  who it is, written before it starts and completed after
//   <folder>/exit.json     how it ended, written by the process itself if it could
//   <folder>/logs/         its output (agent.log, rotated at 16 MiB) and its ranks' logs
// All its descendants have its mark (base/process_mark.h), made of the pod's UID and so known to a
// LocalNodes that is started anew; when it has ended they are killed, and only then it is told.
//
// Not thread-safe.
class PodProcess {
 public:
  struct Context {
    Files& files;
    ProcessLauncher& launcher;
    const Clock& clock;
  };

  // A process for a pod that never had one. Never fails: what could not be started has ended, with
  // state().start_error.
  static std::unique_ptr<PodProcess> Start(Context context, std::string name, std::string uid,
                                           std::string folder, PodCommand command);
  // For a pod that cannot run here at all.
  static std::unique_ptr<PodProcess> Refused(Context context, std::string name, std::string uid,
                                             std::string folder, const absl::Status& why);
  // What an earlier LocalNodes left in `folder`: running, or ended meanwhile. NotFound when nothing
  // was ever started there.
  static absl::StatusOr<std::unique_ptr<PodProcess>> Recover(Context context, std::string folder);

  const std::string& name() const { return name_; }  // namespace/pod
  const std::string& uid() const { return uid_; }
  const std::string& folder() const { return folder_; }
  pid_t pid() const { return process_ == nullptr ? 0 : process_->pid(); }
  int poll_fd() const { return running() ? process_->poll_fd() : -1; }
  bool running() const { return !state_.exit.has_value(); }
  const ContainerState& state() const { return state_; }

  // Notices its end, and sends the SIGKILL that is due.
  void RunOnce();
  // SIGTERM now, SIGKILL after `grace`. Again with a shorter grace it hurries up.
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
  std::unique_ptr<Process> process_;
  ContainerState state_;
  bool stopping_ = false;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_PROCESS_H_
