#ifndef MUSTER_BASE_TESTING_FAKE_PROCESS_H_
#define MUSTER_BASE_TESTING_FAKE_PROCESS_H_

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/process/process.h"

namespace muster {

// A table of imaginary processes, which a test ends as it likes. SIGKILL ends a process, and so
// does SIGTERM unless the process ignores it. A signal to a process that has ended is NotFound,
// pids are never reused, and the exit code of an adopted process is unknown. Not thread-safe.
class FakeProcessLauncher final : public ProcessLauncher {
 public:
  struct State {
    ProcessSpec spec;
    pid_t pid = 0;
    bool ignores_term = false;
    std::optional<ExitStatus> exit;
    std::vector<int> signals;
  };

  absl::StatusOr<std::unique_ptr<Process>> Launch(const ProcessSpec& spec) override {
    if (!next_launch_.ok()) return std::exchange(next_launch_, absl::OkStatus());
    if (spec.argv.empty()) return absl::InvalidArgumentError("no program to execute");
    auto state = std::make_shared<State>();
    state->spec = spec;
    state->pid = next_pid_++;
    processes_[state->pid] = state;
    return std::make_unique<FakeProcess>(state, /*child=*/true);
  }

  absl::StatusOr<std::unique_ptr<Process>> Adopt(pid_t pid, uint64_t start_time) override {
    const auto it = processes_.find(pid);
    if (it == processes_.end() || it->second->exit || StartTimeOf(pid) != start_time) {
      return absl::NotFoundError(absl::StrCat("process ", pid));
    }
    return std::make_unique<FakeProcess>(it->second, /*child=*/false);
  }

  int SignalMarked(const std::string& mark, int signal) override {
    int found = 0;
    for (auto& [pid, state] : processes_) {
      if (state->exit || state->spec.mark != mark) continue;
      FakeProcess(state, /*child=*/false).Signal(signal).IgnoreError();
      ++found;
    }
    return found;
  }

  absl::Status EndMarked(const std::string& mark, absl::Duration) override {
    SignalMarked(mark, SIGKILL);
    return absl::OkStatus();
  }

  void FailNextLaunch(absl::Status status) { next_launch_ = std::move(status); }
  void End(pid_t pid, ExitStatus exit) { processes_.at(pid)->exit = exit; }
  State& state(pid_t pid) { return *processes_.at(pid); }
  std::vector<pid_t> running() const {
    std::vector<pid_t> pids;
    for (const auto& [pid, state] : processes_) {
      if (!state->exit) pids.push_back(pid);
    }
    return pids;
  }
  static uint64_t StartTimeOf(pid_t pid) { return static_cast<uint64_t>(pid) * 1000; }

 private:
  class FakeProcess final : public Process {
   public:
    // Shared, because the table must still find a process whose handle was destroyed.
    FakeProcess(std::shared_ptr<State> state, bool child)
        : state_(std::move(state)), child_(child) {}
    pid_t pid() const override { return state_->pid; }
    uint64_t start_time() const override { return StartTimeOf(state_->pid); }
    int poll_fd() const override { return -1; }
    absl::StatusOr<std::optional<ExitStatus>> Poll() override {
      if (state_->exit && !child_) return ExitStatus{.known = false};
      return state_->exit;
    }
    absl::Status Signal(int signal) override {
      if (state_->exit) return absl::NotFoundError("ended");
      state_->signals.push_back(signal);
      if (signal == SIGKILL || (signal == SIGTERM && !state_->ignores_term)) {
        state_->exit = ExitStatus{.code = 128 + signal, .signal = signal};
      }
      return absl::OkStatus();
    }
    absl::Status SignalGroup(int signal) override { return Signal(signal); }

   private:
    std::shared_ptr<State> state_;
    const bool child_;
  };

  std::map<pid_t, std::shared_ptr<State>> processes_;
  absl::Status next_launch_;
  pid_t next_pid_ = 1000;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_FAKE_PROCESS_H_
