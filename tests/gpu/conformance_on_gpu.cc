// usage: conformance_on_gpu
//
// Runs the communicators' conformance suite with tensors of a card: at one rank over NCCL, which
// refuses two ranks on one card, and with two and four ranks, a process each, that share the card
// through Gloo. Prints a line for each case and each fault, and ends with 1 if there is a fault.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "trainer/comm/communicator_conformance.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/round_store.h"
#include "trainer/comm/staged_communicator.h"
#include "trainer/device/device_runtime.h"
#include "trainer/device/load_cuda.h"

namespace muster::trainer {
namespace {

constexpr int kCouldNotStart = 2;

struct Place {
  DeviceRuntime& runtime;
  c10::Device device;
  std::string store;
  int rank = 0;
};

absl::StatusOr<std::unique_ptr<Communicator>> Connect(const ConformanceCase& test,
                                                      const Place& place) {
  if (test.ranks == 1) {
    auto connector = place.runtime.MakeConnector({.device = place.device,
                                                  .store = place.store,
                                                  .tag = test.name,
                                                  .deadline = test.deadline});
    if (!connector.ok()) return connector.status();
    return (*connector)->Connect();
  }
  auto host = MakeGlooCommunicator({.store = place.store,
                                    .rank = place.rank,
                                    .size = test.ranks,
                                    .tag = test.name,
                                    .deadline = test.deadline,
                                    .check = test.check});
  if (!host.ok()) return host.status();
  return MakeStagedCommunicator(*std::move(host));
}

// Runs the cases of so many ranks as one of them. Returns the process's exit code.
int RunRank(const std::string& store, int rank, int ranks) {
  const auto runtime = LoadCuda(FindCuda());
  const absl::Status used = runtime.ok() ? (*runtime)->Use(0) : runtime.status();
  if (!used.ok()) {
    if (rank == 0) std::fprintf(stderr, "conformance_on_gpu: %s\n", used.ToString().c_str());
    return kCouldNotStart;
  }
  const Place place{**runtime, c10::Device((*runtime)->type(), 0), store, rank};
  int code = 0;
  for (const ConformanceCase& test : CommunicatorConformanceCases(place.device)) {
    if (test.ranks != ranks) continue;
    auto communicator = Connect(test, place);
    const std::string wrong =
        communicator.ok() ? test.body(**communicator) : communicator.status().ToString();
    if (rank == 0 || !wrong.empty()) {
      std::printf("%s rank %d: %s\n", test.name.c_str(), rank,
                  wrong.empty() ? "ok" : wrong.c_str());
      std::fflush(stdout);
    }
    if (!wrong.empty()) code = 1;
  }
  return code;
}

// Starts the ranks as processes, before this one has touched a card, and returns the worst code.
int RunRanks(const std::string& store, int ranks) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(RunRank(store, rank, ranks));
    children.push_back(child);
  }
  int worst = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
      worst = std::max(worst, 1);
    } else {
      worst = std::max(worst, WEXITSTATUS(status));
    }
  }
  return worst;
}

// Serves a store in a process of its own, which ends with the pipe's other end.
std::pair<std::string, pid_t> Serve() {
  int ends[2];
  if (pipe(ends) != 0) return {"", -1};
  const pid_t child = fork();
  if (child == 0) {
    const auto store = StartRoundStore();
    const std::string endpoint = store.ok() ? (*store)->endpoint() : "";
    if (write(ends[1], endpoint.data(), endpoint.size()) < 0) _exit(1);
    close(ends[1]);
    pause();
    _exit(0);
  }
  close(ends[1]);
  char text[256];
  const ssize_t length = read(ends[0], text, sizeof(text));
  close(ends[0]);
  return {std::string(text, length > 0 ? static_cast<size_t>(length) : 0), child};
}

int Main() {
  const auto [store, server] = Serve();
  if (store.empty()) return kCouldNotStart;
  int worst = 0;
  for (const int ranks : {1, 2, 4}) {
    worst = std::max(worst, RunRanks(store, ranks));
    if (worst == kCouldNotStart) break;
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return worst;
}

}  // namespace
}  // namespace muster::trainer

int main() { return muster::trainer::Main(); }
