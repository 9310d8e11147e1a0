// Runs the real ibnetdiscover against ibsim, a simulator of InfiniBand fabrics: two leaf switches
// below two spines, three adapters. tools/setup --test unpacks both from Debian's packages.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/node/fabric_probe.h"
#include "base/process/process.h"
#include "base/testing/installed_folder.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using testing::ElementsAre;
using testing::Pair;
namespace fs = std::filesystem;

constexpr char kNet[] = R"(Switch	40 "leaf-0"
[1]	"node-a"[1]
[2]	"node-b"[1]
[33]	"spine-0"[1]
[34]	"spine-1"[1]

Switch	40 "leaf-1"
[1]	"node-c"[1]
[33]	"spine-0"[2]
[34]	"spine-1"[2]

Switch	40 "spine-0"
[1]	"leaf-0"[33]
[2]	"leaf-1"[33]

Switch	40 "spine-1"
[1]	"leaf-0"[34]
[2]	"leaf-1"[34]

Hca	1 "node-a"
[1]	"leaf-0"[1]

Hca	1 "node-b"
[1]	"leaf-0"[2]

Hca	1 "node-c"
[1]	"leaf-1"[1]
)";

class IbsimTest : public testing::Test {
 protected:
  IbsimTest() {
    tools_ = InstalledFolder("infiniband") + "/usr";
    libraries_ = tools_ + "/lib/x86_64-linux-gnu";
    char folder[] = "/tmp/muster-ibsim-XXXXXX";
    folder_ = ::mkdtemp(folder);
    std::ofstream(folder_ + "/net") << kNet;
  }
  ~IbsimTest() override {
    if (simulator_ != nullptr) {
      simulator_->SignalGroup(SIGKILL).IgnoreError();
      pollfd fd = {simulator_->poll_fd(), POLLIN, 0};
      ::poll(&fd, 1, -1);
      (void)simulator_->Poll();
    }
    fs::remove_all(folder_);
  }

  // The simulator reads commands from its input, and ends with it.
  void Simulate() {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c",
                 absl::StrCat("tail -f /dev/null | ", tools_, "/bin/ibsim -s net > log 2>&1")};
    spec.env = {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + libraries_, Server()};
    spec.cwd = folder_;
    spec.group = ProcessSpec::Group::kProcessGroup;
    simulator_ = *ProcessLauncher::Real().Launch(spec);
  }
  // Two simulators on one machine need names of their own.
  std::string Server() const { return "IBSIM_SOCKNAME=" + fs::path(folder_).filename().string(); }

  absl::StatusOr<FabricLinks> Discover(const std::string& host) {
    FabricProbe probe(
        ProcessLauncher::Real(), tools_ + "/sbin/ibnetdiscover",
        {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + libraries_,
         "LD_PRELOAD=" + libraries_ + "/umad2sim/libumad2sim.so", "SIM_HOST=" + host, Server()});
    const absl::Time start = absl::Now();
    // The tool's library puts files of the simulated host into the present folder.
    fs::current_path(folder_);
    if (const absl::Status started = probe.Start(start); !started.ok()) return started;
    for (;;) {
      if (auto links = probe.Poll(absl::Now())) return *links;
      ::poll(nullptr, 0, 10);
    }
  }

  std::string tools_;
  std::string libraries_;
  std::string folder_;
  std::unique_ptr<Process> simulator_;
};

TEST_F(IbsimTest, TheToolFindsTheLeafSwitchOfEachAdapter) {
  Simulate();
  const absl::Time deadline = absl::Now() + kPatience;
  absl::StatusOr<FabricLinks> links = absl::UnavailableError("not asked");
  // Until the simulator listens, the tool ends with an error.
  while (!links.ok() && absl::Now() < deadline) links = Discover("node-b");
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_THAT(
      *links,
      ElementsAre(Pair(Pair("0000000000100000", 1), SwitchEnd{"0000000000200000", "leaf-0"}),
                  Pair(Pair("0000000000100002", 1), SwitchEnd{"0000000000200000", "leaf-0"}),
                  Pair(Pair("0000000000100004", 1), SwitchEnd{"0000000000200001", "leaf-1"})));
}

}  // namespace
}  // namespace muster::agent
