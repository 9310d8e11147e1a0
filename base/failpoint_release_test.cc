// Built with MUSTER_RELEASE: an armed failpoint does nothing and leaves no trace in the program.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "base/failpoint.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

absl::Status Pass() {
  MUSTER_FAILPOINT("release-test-kill");
  return MUSTER_FAILPOINT_STATUS("release-test-error");
}

TEST(FailpointReleaseTest, AnArmedFailpointDoesNothing) {
  // The names are assembled here, so that the program holds them whole only if the macros do.
  const std::string stem = std::string("release") + "-test";
  setenv("MUSTER_FAILPOINTS", (stem + "-kill=kill;" + stem + "-error=error").c_str(), 1);
  EXPECT_TRUE(Pass().ok());
}

TEST(FailpointReleaseTest, TheProgramNamesNoFailpoint) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::ostringstream program;
  program << file.rdbuf();
  const std::string stem = std::string("release") + "-test";
  EXPECT_GT(program.str().size(), 1000u);
  EXPECT_EQ(program.str().find(stem + "-kill"), std::string::npos);
  EXPECT_EQ(program.str().find(stem + "-error"), std::string::npos);
}

}  // namespace
}  // namespace muster
