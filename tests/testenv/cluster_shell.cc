#include "tests/testenv/cluster_shell.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "gtest/gtest.h"

namespace muster::tests {

ClusterShell::ClusterShell(const TestCluster& cluster, const std::string& folder,
                           absl::Duration patience)
    : cluster_(cluster),
      folder_(absl::StrCat(std::getenv("TEST_TMPDIR"), "/", folder)),
      patience_(patience) {
  EXPECT_TRUE(FileSystem().MakeDirectories(folder_).ok());
  // kubectl caches what it learns of a server under its address, which is the same for all control
  // planes here.
  setenv("KUBECACHEDIR", absl::StrCat(folder_, "/kube-cache").c_str(), 1);
  for (const char* kind : {"CACHE", "CONFIG", "DATA"}) {
    setenv(absl::StrCat("HELM_", kind, "_HOME").c_str(), absl::StrCat(folder_, "/helm").c_str(), 1);
  }
}

CommandResult ClusterShell::Try(const std::string& commands) const {
  const std::string path = absl::StrCat("PATH=", cluster_.Program(""), ":", std::getenv("PATH"));
  const auto result = TestCluster::Run({"/usr/bin/env", absl::StrCat("--chdir=", folder_), path,
                                        "bash", "-euo", "pipefail", "-c", commands},
                                       "", patience_);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(CommandResult{{.code = -1}, "", ""});
}

std::string ClusterShell::Run(const std::string& commands) const {
  const CommandResult result = Try(commands);
  EXPECT_TRUE(result.ok()) << commands << "\n" << result.out << result.err;
  return result.out;
}

void ClusterShell::CopyCharts() const {
  Run(absl::StrCat("cp -rfL ", DataPath("charts"), " ", DataPath("deploy"), " ."));
}

std::string DataPath(const std::string& path) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", path);
}

}  // namespace muster::tests
