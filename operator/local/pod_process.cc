#include "operator/local/pod_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

constexpr char kProcessFile[] = "process.json";
constexpr char kExitFile[] = "exit.json";
constexpr char kLogFile[] = "logs/agent.log";
// A process ends after SIGKILL only when an uninterruptible system call has returned.
constexpr absl::Duration kEndPatience = absl::Seconds(10);
constexpr uint64_t kMaxLogBytes = uint64_t{16} << 20;

std::string MarkOf(const std::string& uid) { return absl::StrCat("MUSTER_POD_UID=", uid); }

}  // namespace

PodProcess::PodProcess(Context context, std::string name, std::string uid, std::string folder)
    : context_(context), name_(std::move(name)), uid_(std::move(uid)), folder_(std::move(folder)) {}

std::unique_ptr<PodProcess> PodProcess::Start(Context context, std::string name, std::string uid,
                                              std::string folder, PodCommand command) {
  auto pod = std::unique_ptr<PodProcess>(
      new PodProcess(context, std::move(name), std::move(uid), std::move(folder)));
  pod->state_.started_at = context.clock.Wall();
  if (absl::Status status = pod->Launch(std::move(command)); !status.ok()) {
    pod->SetNotStarted(status);
  }
  return pod;
}

std::unique_ptr<PodProcess> PodProcess::Refused(Context context, std::string name, std::string uid,
                                                std::string folder, const absl::Status& why) {
  auto pod = std::unique_ptr<PodProcess>(
      new PodProcess(context, std::move(name), std::move(uid), std::move(folder)));
  pod->state_.started_at = context.clock.Wall();
  pod->SetNotStarted(why);
  return pod;
}

void PodProcess::SetNotStarted(const absl::Status& why) {
  MUSTER_LOG(ERROR, "pod not started", {"pod", name_}, {"error", why});
  state_.start_error = std::string(why.message());
  state_.exit = ExitStatus{.code = 128};
  state_.finished_at = context_.clock.Wall();
}

absl::Status PodProcess::Launch(PodCommand command) {
  gpus_ = std::move(command.gpus);
  const std::string logs = JoinPath(folder_, "logs");
  MUSTER_RETURN_IF_ERROR(context_.files.MakeDirectories(logs));
  // The file may be of an earlier pod of this name.
  MUSTER_RETURN_IF_ERROR(RemoveAll(context_.files, JoinPath(folder_, kExitFile)));
  // Recorded before the start: if this process is killed right after it, the record still has the
  // mark of the pod's processes.
  MUSTER_RETURN_IF_ERROR(Record());
  if (!gpus_.empty()) command.env["NVIDIA_VISIBLE_DEVICES"] = absl::StrJoin(gpus_, ",");
  command.env["MUSTER_POD_UID"] = uid_;
  command.env["MUSTER_LOG_DIR"] = logs;
  command.env["MUSTER_EXIT_FILE"] = JoinPath(folder_, kExitFile);
  const std::string log_path = JoinPath(folder_, kLogFile);
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) {
    return absl::UnavailableError(absl::StrCat(log_path, ": ", std::strerror(errno)));
  }
  ProcessSpec spec;
  spec.argv = std::move(command.argv);
  for (const auto& [key, value] : command.env) spec.env.push_back(absl::StrCat(key, "=", value));
  spec.cwd = std::move(command.cwd);
  spec.mark = MarkOf(uid_);
  spec.fds = {{log, STDOUT_FILENO}, {log, STDERR_FILENO}};
  // The pod must outlive this process: no death signal, a session of its own.
  spec.group = ProcessSpec::Group::kSession;
  absl::StatusOr<std::unique_ptr<Process>> process = context_.launcher.Launch(spec);
  close(log);
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  MUSTER_LOG(INFO, "pod started", {"pod", name_}, {"pid", process_->pid()});
  if (absl::Status status = Record(); !status.ok()) {
    KillAll();
    return status;
  }
  return absl::OkStatus();
}

absl::Status PodProcess::Record() {
  Json record = {{"pod", name_},
                 {"uid", uid_},
                 {"startedAt", absl::ToUnixMicros(state_.started_at)},
                 {"pid", pid()},
                 {"startTime", process_ == nullptr ? 0 : process_->start_time()}};
  if (!gpus_.empty()) record["gpus"] = gpus_;
  return WriteFileAtomically(context_.files, JoinPath(folder_, kProcessFile), DumpJson(record));
}

absl::StatusOr<std::unique_ptr<PodProcess>> PodProcess::Recover(Context context,
                                                                std::string folder) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(context.files, JoinPath(folder, kProcessFile)));
  MUSTER_ASSIGN_OR_RETURN(const Json record, ParseJson(text));
  auto pod = std::unique_ptr<PodProcess>(new PodProcess(context, kube::StringAt(record, {"pod"}),
                                                        kube::StringAt(record, {"uid"}), folder));
  pod->state_.started_at = absl::FromUnixMicros(IntegerField(record, "startedAt").value_or(0));
  pod->gpus_ = StringsField(record, "gpus");
  absl::StatusOr<std::unique_ptr<Process>> process =
      context.launcher.Adopt(static_cast<pid_t>(IntegerField(record, "pid").value_or(0)),
                             static_cast<uint64_t>(IntegerField(record, "startTime").value_or(0)));
  if (process.ok()) {
    pod->process_ = *std::move(process);
    MUSTER_LOG(INFO, "pod adopted", {"pod", pod->name_}, {"pid", pod->process_->pid()});
  } else {
    pod->SetEnded(ExitStatus{.known = false});
  }
  return pod;
}

// The process holds the file open for appending, so it is copied and then truncated in place. Lines
// written in between are lost here, but the ranks' own logs have them.
void PodProcess::RotateLog() {
  const std::string path = JoinPath(folder_, kLogFile);
  const auto info = context_.files.Stat(path);
  if (!info.ok() || info->size <= kMaxLogBytes) return;
  const auto text = ReadFile(context_.files, path);
  if (text.ok()) WriteFileAtomically(context_.files, path + ".1", *text).IgnoreError();
  context_.files.Create(path, CreateMode::kTruncate).status().IgnoreError();
}

void PodProcess::RunOnce() {
  if (!running()) return;
  RotateLog();
  absl::StatusOr<std::optional<ExitStatus>> exit = process_->Poll();
  if (!exit.ok()) {
    SetEnded(ExitStatus{.known = false});
  } else if (exit->has_value()) {
    SetEnded(**exit);
  } else if (context_.clock.Monotonic() >= kill_at_) {
    kill_at_ = absl::InfiniteFuture();
    process_->Signal(SIGKILL).IgnoreError();
  }
}

void PodProcess::Stop(absl::Duration grace) {
  if (!running()) return;
  kill_at_ = std::min(kill_at_, context_.clock.Monotonic() + grace);
  if (std::exchange(stopping_, true)) return;
  process_->Signal(SIGTERM).IgnoreError();
}

std::optional<int> PodProcess::ReadExitFile() const {
  const auto text = ReadFile(context_.files, JoinPath(folder_, kExitFile));
  if (!text.ok()) return std::nullopt;
  const auto exit = ParseJson(*text);
  if (!exit.ok()) return std::nullopt;
  const std::optional<int64_t> code = IntegerField(*exit, "exitCode");
  if (!code.has_value()) return std::nullopt;
  return static_cast<int>(*code);
}

void PodProcess::SetEnded(ExitStatus exit) {
  KillAll();
  if (!exit.known) {
    // A process that ends by itself writes its exit file.
    const std::optional<int> code = ReadExitFile();
    exit = code.has_value() ? ExitStatus{.code = *code}
                            : ExitStatus{.code = 128 + SIGKILL, .signal = SIGKILL};
  }
  state_.exit = exit;
  state_.finished_at = context_.clock.Wall();
  MUSTER_LOG(INFO, "pod ended", {"pod", name_}, {"how", DescribeExit(exit)});
}

void PodProcess::KillAll() {
  const absl::Status ended = context_.launcher.EndMarked(MarkOf(uid_), kEndPatience);
  if (!ended.ok()) MUSTER_LOG(ERROR, "pod leaves processes", {"pod", name_}, {"error", ended});
}

}  // namespace muster::control
