// Runs real processes in place of ibnetdiscover; tests/integration/ibsim_test.cc runs the tool
// itself.
#include "agent/node/fabric_probe.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;

class FabricProbeTest : public testing::Test {
 protected:
  FabricProbeTest() {
    char file[] = "/tmp/muster-fabric-XXXXXX";
    ::close(::mkstemp(file));
    program_ = file;
  }
  ~FabricProbeTest() override { std::remove(program_.c_str()); }

  void Script(const std::string& text) {
    std::ofstream(program_) << "#!/bin/sh\n" << text;
    ::chmod(program_.c_str(), 0700);
  }
  absl::StatusOr<FabricLinks> Run() {
    FabricProbe probe(ProcessLauncher::Real(), program_, {"PATH=/usr/bin:/bin"});
    absl::Status started = probe.Start(now_);
    if (!started.ok()) return started;
    return Ended(probe);
  }
  absl::StatusOr<FabricLinks> Ended(FabricProbe& probe) {
    for (;;) {
      if (auto links = probe.Poll(now_)) return *links;
      ::poll(nullptr, 0, 5);
    }
  }

  std::string program_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(FabricProbeTest, WhatTheToolPrintsIsRead) {
  Script(
      "printf 'Ca\\t1 \"H-0000000000100004\"\\t# \"x\"\\n'\n"
      "printf '[1](100005) \\t\"S-0000000000200001\"[1]\\t# lid 0 lmc 0 \"leaf-1\" lid 0\\n'\n");
  const auto links = Run();
  ASSERT_TRUE(links.ok()) << links.status();
  ASSERT_EQ(links->size(), 1u);
  EXPECT_EQ(links->at({"0000000000100004", 1}).name, "leaf-1");
}

TEST_F(FabricProbeTest, AToolThatFailsSaysWhy) {
  Script("echo 'is ib_umad module loaded?' >&2\nexit 255\n");
  const auto links = Run();
  EXPECT_EQ(links.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(links.status().message()),
              HasSubstr("exit code 255: is ib_umad module loaded?"));
}

TEST_F(FabricProbeTest, AToolThatIsNotInstalledIsNamed) {
  FabricProbe probe(ProcessLauncher::Real(), "muster-has-no-such-tool", {"PATH=/usr/bin"});
  const absl::Status started = probe.Start(now_);
  EXPECT_TRUE(absl::IsNotFound(started)) << started;
  EXPECT_THAT(std::string(started.message()), HasSubstr("muster-has-no-such-tool"));
  EXPECT_FALSE(probe.running());
}

TEST_F(FabricProbeTest, AToolThatHangsIsKilledWithItsChildren) {
  Script("sleep 1000 & sleep 1000\n");
  FabricProbe probe(ProcessLauncher::Real(), program_, {"PATH=/usr/bin:/bin"});
  ASSERT_TRUE(probe.Start(now_).ok());
  EXPECT_FALSE(probe.Poll(now_ + FabricProbe::kLongest - absl::Seconds(1)).has_value());
  now_ += FabricProbe::kLongest;
  const auto links = Ended(probe);
  EXPECT_EQ(links.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(links.status().message()), HasSubstr("had not ended after 2m"));
  EXPECT_FALSE(probe.running());
}

}  // namespace
}  // namespace muster::agent
