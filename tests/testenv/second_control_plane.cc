#include "tests/testenv/second_control_plane.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/hash.h"
#include "gmock/gmock.h"

namespace muster::tests {
namespace {

namespace fs = std::filesystem;

using ::testing::IsEmpty;

std::string Contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

SecondControlPlaneTest::SecondControlPlaneTest(const std::string& name,
                                               std::vector<std::string> flags_of_up)
    : name_(absl::StrCat(name, "-", ToHex(Hash64(getenv("TEST_TMPDIR"))).substr(0, 6))),
      flags_(std::move(flags_of_up)) {}

void SecondControlPlaneTest::SetUp() {
  tool_ = getenv("MUSTER_TESTENV_TOOL");
  const fs::path shared = getenv("MUSTER_TESTENV_FOLDER");
  folder_ = (shared.parent_path() / name_).string();
  cgroup_ = absl::StrCat(getenv("MUSTER_TESTENV_NETNS"), "-", name_);
  netns_ = absl::StrCat("/run/netns/", cgroup_);
  Tool("down");
  ASSERT_THAT(LeftOvers(), IsEmpty());
}

void SecondControlPlaneTest::TearDown() { Tool("down"); }

CommandResult SecondControlPlaneTest::Tool(const std::string& command,
                                           const std::vector<std::string>& more) const {
  std::vector<std::string> argv = {tool_, command, absl::StrCat("--name=", name_)};
  argv.insert(argv.end(), more.begin(), more.end());
  const auto result = TestCluster::Run(argv, "", kDeadline);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(CommandResult{{.code = -1}, "", ""});
}

std::unique_ptr<Process> SecondControlPlaneTest::Begin(const std::string& command,
                                                       const std::vector<std::string>& more) const {
  ProcessSpec spec;
  spec.argv = {tool_, command, absl::StrCat("--name=", name_)};
  spec.argv.insert(spec.argv.end(), flags_.begin(), flags_.end());
  spec.argv.insert(spec.argv.end(), more.begin(), more.end());
  for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
  auto process = ProcessLauncher::Real().Launch(spec);
  EXPECT_TRUE(process.ok()) << process.status();
  return process.ok() ? *std::move(process) : nullptr;
}

bool SecondControlPlaneTest::WaitFor(absl::FunctionRef<bool()> done) {
  const absl::Time deadline = Clock::Real().Monotonic() + kDeadline;
  while (!done()) {
    if (Clock::Real().Monotonic() > deadline) return false;
    usleep(1000);
  }
  return true;
}

ExitStatus SecondControlPlaneTest::EndOf(Process& process) {
  ExitStatus end;
  EXPECT_TRUE(WaitFor([&] {
    const auto ended = process.Poll();
    if (!ended.ok() || !ended->has_value()) return false;
    end = **ended;
    return true;
  }));
  return end;
}

bool SecondControlPlaneTest::LogsExist(const std::string& component) const {
  return fs::exists(folder_ + "/log/" + component + ".log");
}

void SecondControlPlaneTest::AddProcesses(std::vector<std::string>& left) const {
  const std::string mark = absl::StrCat("MUSTER_TESTENV_PROCESS=", folder_, ":");
  // A container's processes do not have the mark.
  const std::string cgroup = absl::StrCat(":/", cgroup_, "/");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (absl::StrContains(Contents(entry.path() / "environ"), mark) ||
        absl::StrContains(Contents(entry.path() / "cgroup"), cgroup)) {
      left.push_back(entry.path().filename());
    }
  }
}

std::vector<std::string> SecondControlPlaneTest::LeftOvers() const {
  std::vector<std::string> left;
  AddProcesses(left);
  std::vector<fs::path> paths = {folder_, netns_, fs::path("/sys/fs/cgroup") / cgroup_};
  std::error_code ignored;
  for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup", ignored)) {
    paths.push_back(hierarchy.path() / cgroup_);
  }
  for (const fs::path& path : paths) {
    if (fs::exists(path, ignored)) left.push_back(path.string());
  }
  const std::string mounts = Contents("/proc/self/mountinfo");
  if (absl::StrContains(mounts, folder_ + "/")) left.push_back(mounts);
  return left;
}

}  // namespace muster::tests
