// muster-trainer: one rank. Started by its agent with a socket pair; it has no flags.
//
//  1. signals and threads      a dead peer is an error, not SIGPIPE; one compute thread per rank
//  2. the link and its reader  the end of the link ends the process, whatever it is doing
//  3. Configure                device, data, memory, model; bad input is reported, with exit code 2
//  4. Hello and heartbeat
//  5. rounds and steps         until the agent is gone or this rank cannot go on

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "ATen/Parallel.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/device/load_cuda.h"
#include "trainer/engine/link/heartbeat.h"
#include "trainer/engine/link/link.h"
#include "trainer/process/trainer_process.h"

namespace muster::trainer {
namespace {

std::string Environment(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

int EnvironmentNumber(const char* name, int otherwise) {
  int value = otherwise;
  return absl::SimpleAtoi(Environment(name), &value) ? value : otherwise;
}

ProcessOptions ReadEnvironment() {
  ProcessOptions options;
  // The agent sets MASTER_ADDR to its own host: the store is rank 0's.
  options.host = Environment("MASTER_ADDR", options.host);
  const std::string home = Environment("HOME");
  options.cache_directory =
      Environment("MUSTER_CACHE_DIR", home.empty() ? "" : home + "/.cache/muster/tokens");
  // A rank that is started again finds its siblings' memory taken already.
  const bool again = EnvironmentNumber("TORCHELASTIC_RESTART_COUNT", 0) > 0;
  options.ranks_starting = again ? 1 : EnvironmentNumber("LOCAL_WORLD_SIZE", 1);
  options.load_devices = [] { return LoadCuda(FindCuda()); };
  return options;
}

// Exits without running destructors: reader and heartbeat still use what they would destroy.
[[noreturn]] void Leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

// Gives an orphaned process a moment to leave by itself; a stuck one is ended.
void ReadUntilTheAgentIsGone(SocketLink& link, Inbox& inbox) {
  while (link.RunOnce(inbox)) {
  }
  sleep(2);
  Leave(kExitFailed);
}

int Refuse(const absl::Status& status, Outbox& link) {
  std::fprintf(stderr, "muster-trainer: %s\n", std::string(status.message()).c_str());
  v1alpha1::FromTrainer message;
  message.mutable_finished()->set_message(std::string(status.message()));
  link.Send(message);
  return kExitBadInput;
}

int Run(int fd) {
  static Inbox inbox;
  static SocketLink link(fd);
  static EngineProgress progress(Clock::Real());
  std::thread([] { ReadUntilTheAgentIsGone(link, inbox); }).detach();
  const auto first = inbox.Take();
  if (!first) return kExitFailed;
  if (!first->has_configure()) {
    return Refuse(absl::InvalidArgumentError("the first message from the agent is not Configure"),
                  link);
  }
  auto process = TrainerProcess::Create(first->configure(), ReadEnvironment(), FileSystem(),
                                        Clock::Real(), inbox, link, progress);
  if (!process.ok()) return Refuse(process.status(), link);
  v1alpha1::FromTrainer hello;
  hello.mutable_hello()->set_pid(getpid());
  link.Send(hello);
  const double given = first->configure().heartbeat_seconds();
  const absl::Duration period = absl::Seconds(given > 0.0 ? given : 0.25);
  std::thread([period] {
    Heartbeat heartbeat(progress, link);
    while (true) {
      heartbeat.RunOnce();
      absl::SleepFor(period);
    }
  }).detach();
  while ((*process)->trainer().RunOnce()) {
  }
  Leave((*process)->trainer().exit_code());
}

}  // namespace
}  // namespace muster::trainer

int main() {
  signal(SIGPIPE, SIG_IGN);
  at::set_num_threads(1);
  const std::string fd = muster::trainer::Environment("MUSTER_LINK_FD");
  if (fd.empty()) {
    std::fprintf(stderr, "muster-trainer is started by muster-agent, over MUSTER_LINK_FD\n");
    return muster::kExitBadInput;
  }
  muster::trainer::Leave(
      muster::trainer::Run(muster::trainer::EnvironmentNumber("MUSTER_LINK_FD", -1)));
}
