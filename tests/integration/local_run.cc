#include "tests/integration/local_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/jobs/history.h"

namespace muster::tests {
namespace {

// The interval at which conditions without a notification are polled.
constexpr int kLookMillis = 10;

// The kernel lists children under the thread that started them.
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = absl::StrCat("/proc/", parent, "/task");
  const auto threads = FileSystem().List(tasks);
  if (!threads.ok()) return children;
  for (const DirectoryEntry& thread : *threads) {
    std::ifstream file(absl::StrCat(tasks, "/", thread.name, "/children"));
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

}  // namespace

std::string FreshFolder(const std::string& name) {
  const char* base = std::getenv("TEST_TMPDIR");
  const std::string folder = absl::StrCat(base == nullptr ? "/tmp" : base, "/", name);
  (void)RemoveAll(FileSystem(), folder);
  (void)FileSystem().MakeDirectories(folder);
  return folder;
}

std::string ProgramPath(const std::string& name) {
  const char* source = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  return absl::StrCat(source == nullptr ? "." : source, "/", workspace == nullptr ? "." : workspace,
                      "/", name);
}

LocalRun::LocalRun(std::string folder, std::string job, std::string manifest)
    : folder_(std::move(folder)), job_(std::move(job)) {
  SetManifest(manifest);
}

void LocalRun::SetManifest(const std::string& manifest) const {
  const std::string text = absl::StrReplaceAll(manifest, {{"$FOLDER", folder_}});
  (void)WriteFileAtomically(FileSystem(), folder_ + "/manifest.yaml", text);
}

LocalRun::~LocalRun() {
  for (const pid_t pid : Trainers()) kill(pid, SIGKILL);
  for (const pid_t pid : Agents()) kill(pid, SIGKILL);
  if (process_ != nullptr) (void)process_->Signal(SIGKILL);
}

absl::StatusOr<std::unique_ptr<Process>> LocalRun::Launch(std::vector<std::string> arguments,
                                                          const std::string& out) const {
  const int log = open(out.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);
  if (log < 0) return absl::InternalError(absl::StrCat("cannot open ", out));
  ProcessSpec spec;
  spec.argv = std::move(arguments);
  spec.argv.insert(spec.argv.begin(), ProgramPath("cli/muster"));
  spec.argv.insert(spec.argv.end(), {"--state-dir", folder_ + "/state"});
  spec.env = {"PATH=/usr/bin:/bin", absl::StrCat("HOME=", folder_), "OMP_NUM_THREADS=1",
              "OMP_WAIT_POLICY=passive", "MUSTER_LOG_LEVEL=DEBUG"};
  spec.env.insert(spec.env.end(), environment_.begin(), environment_.end());
  spec.cwd = folder_;
  spec.fds = {{log, 1}, {log, 2}};
  auto process = ProcessLauncher::Real().Launch(spec);
  close(log);
  return process;
}

absl::Status LocalRun::Start(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"run", folder_ + "/manifest.yaml"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return StartWith(std::move(arguments));
}

absl::Status LocalRun::Resume() { return StartWith({"resume", job_}); }

absl::Status LocalRun::StartWith(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(),
                   {"--agent", ProgramPath("agent/muster-agent"), "--trainer",
                    trainer_.empty() ? ProgramPath("trainer/muster-trainer") : trainer_});
  MUSTER_ASSIGN_OR_RETURN(process_, Launch(std::move(arguments), folder_ + "/out.log"));
  return absl::OkStatus();
}

absl::StatusOr<ToolResult> LocalRun::RunTool(const std::vector<std::string>& arguments) const {
  const std::string out = folder_ + "/tool.log";
  (void)RemoveAll(FileSystem(), out);
  MUSTER_ASSIGN_OR_RETURN(const auto tool, Launch(arguments, out));
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<ExitStatus> ended, tool->Poll());
    if (ended) return ToolResult{*ended, ReadFile(FileSystem(), out).value_or("")};
    poll(nullptr, 0, kLookMillis);
  }
}

absl::StatusOr<Json> LocalRun::Job() const {
  MUSTER_ASSIGN_OR_RETURN(const ToolResult result, RunTool({"get", job_, "--json"}));
  if (result.exit.code != 0) return absl::InternalError(result.out);
  return ParseJson(result.out);
}

absl::Status LocalRun::WaitForNoAgents(absl::Duration within) const {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (!Agents().empty()) {
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("agents are left:\n", Output()));
    }
    poll(nullptr, 0, kLookMillis);
  }
  return absl::OkStatus();
}

int64_t LocalRun::last_step() const {
  const auto history =
      cli::History::Load(FileSystem(), absl::StrCat(folder_, "/state/", job_, "/steps.jsonl"));
  return history.ok() ? (*history)->last_step() : 0;
}

absl::Status LocalRun::WaitForStep(int64_t step, absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (last_step() < step) {
    const auto ended = process_->Poll();
    if (ended.ok() && ended->has_value()) {
      return absl::FailedPreconditionError(absl::StrCat("muster run ended (", DescribeExit(**ended),
                                                        ") before step ", step, ":\n", Output()));
    }
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("step ", step, " was not reached:\n", Output()));
    }
    poll(nullptr, 0, kLookMillis);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LocalRun::WaitForCondition(const std::string& type,
                                                       const std::string& status,
                                                       const std::string& reason,
                                                       absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  absl::Status asked;
  while (Clock::Real().Monotonic() < deadline) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<ExitStatus> ended, process_->Poll());
    const auto job = Job();  // fails until `muster run` has written the job
    asked = job.status();
    if (job.ok()) {
      const Json conditions =
          job->value("status", Json::object()).value("conditions", Json::array());
      for (const Json& condition : conditions) {
        if (condition.value("type", "") == type && condition.value("status", "") == status &&
            condition.value("reason", "") == reason) {
          return condition.value("message", "");
        }
      }
    }
    if (ended) break;
    poll(nullptr, 0, kLookMillis);
  }
  return absl::DeadlineExceededError(absl::StrCat("no condition ", type, "=", status, " (", reason,
                                                  "): ", asked.ToString(), "\n", Output()));
}

absl::Status LocalRun::WaitForOutput(const std::string& text, absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (true) {
    // Polls the process before reading its output, so that the last output is not missed.
    MUSTER_ASSIGN_OR_RETURN(const std::optional<ExitStatus> ended, process_->Poll());
    const std::string out = ReadFile(FileSystem(), folder_ + "/out.log").value_or("");
    if (absl::StrContains(out, text)) return absl::OkStatus();
    if (ended) {
      return absl::FailedPreconditionError(absl::StrCat("muster run ended (", DescribeExit(*ended),
                                                        ") without '", text, "':\n", Output()));
    }
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("no '", text, "':\n", Output()));
    }
    poll(nullptr, 0, kLookMillis);
  }
}

absl::StatusOr<ExitStatus> LocalRun::WaitForEnd(absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<ExitStatus> ended, process_->Poll());
    if (ended) return *ended;
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("muster run did not end:\n", Output()));
    }
    poll(nullptr, 0, kLookMillis);
  }
}

void LocalRun::Signal(int signal) {
  if (process_ != nullptr) (void)process_->Signal(signal);
}

std::vector<pid_t> LocalRun::Agents() const {
  std::vector<pid_t> agents;
  const std::string pods = absl::StrCat(folder_, "/state/", job_, "/pods");
  const auto entries = FileSystem().List(pods);
  if (!entries.ok()) return agents;
  for (const DirectoryEntry& entry : *entries) {
    const auto text =
        ReadFile(FileSystem(), absl::StrCat(pods, "/", entry.name, "/process.json"), 4096);
    const auto json = text.ok() ? ParseJson(*text) : absl::StatusOr<Json>(text.status());
    if (!json.ok() || !json->is_object() || !json->contains("pid")) continue;
    const pid_t pid = (*json)["pid"].get<pid_t>();
    const auto started = ProcessStartTime(pid);
    const Json recorded = json->value("startTime", json->value("start_time", Json()));
    if (started.ok() && recorded.is_number() && recorded.get<uint64_t>() == *started) {
      agents.push_back(pid);
    }
  }
  return agents;
}

std::vector<pid_t> LocalRun::Trainers() const {
  std::vector<pid_t> trainers;
  for (const pid_t agent : Agents()) {
    for (const pid_t child : ChildrenOf(agent)) trainers.push_back(child);
  }
  return trainers;
}

std::string LocalRun::Output() const {
  std::string out = ReadFile(FileSystem(), folder_ + "/out.log").value_or("");
  std::string log =
      ReadFile(FileSystem(), absl::StrCat(folder_, "/state/", job_, "/operator.log")).value_or("");
  if (log.size() > 12000) log = "..." + log.substr(log.size() - 12000);
  return absl::StrCat(out, "\n--- operator.log\n", log);
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> NewestTensors(
    const std::string& checkpoints) {
  MUSTER_ASSIGN_OR_RETURN(const auto listings, ListCheckpoints(FileSystem(), checkpoints));
  if (listings.empty() || !listings.front().complete) {
    return absl::NotFoundError("no complete checkpoint in " + checkpoints);
  }
  const std::string& newest = listings.front().directory;
  std::vector<std::pair<std::string, std::string>> out;
  const std::string folder = JoinPath(checkpoints, newest);
  MUSTER_ASSIGN_OR_RETURN(const auto files, FileSystem().List(folder));
  for (const DirectoryEntry& file : files) {
    if (!absl::EndsWith(file.name, ".safetensors")) continue;
    MUSTER_ASSIGN_OR_RETURN(std::string bytes,
                            ReadFile(FileSystem(), JoinPath(folder, file.name), size_t{1} << 30));
    out.emplace_back(absl::StrCat(newest, "/", file.name), std::move(bytes));
  }
  return out;
}

}  // namespace muster::tests
