// Tests the script of `muster completion bash` in a real bash, with the built program.
#include <stdio.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/files.h"
#include "cli/commands.h"
#include "cli/flags/job_paths.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class CompletionTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = JoinPath(Absolute(testing::TempDir()), "jobs");
    ASSERT_TRUE(RemoveAll(FileSystem(), root_).ok());
    for (const char* job : {"small", "smooth", "big"}) {
      ASSERT_TRUE(FileSystem().MakeDirectories(JobPaths{root_, job}.api()).ok());
    }
  }

  // The completions that bash offers for the last word; `words` is the command line as bash source.
  std::vector<std::string> Completions(const std::string& words) {
    const std::string muster = std::getenv("TEST_SRCDIR") + std::string("/muster/cli/muster");
    const std::string script = absl::StrCat(
        "export MUSTER_STATE_DIR=", root_, "; source <(", muster, " completion bash) && ",
        "COMP_WORDS=(", muster, " ", words, ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && ",
        "_muster && printf '%s\\n' \"${COMPREPLY[@]}\"");
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), JoinPath(root_, "script"), script).ok());
    FILE* bash = popen(absl::StrCat("bash '", JoinPath(root_, "script"), "'").c_str(), "r");
    EXPECT_NE(bash, nullptr);
    std::string out;
    for (int c; bash != nullptr && (c = fgetc(bash)) != EOF;) out += static_cast<char>(c);
    const int status = bash == nullptr ? -1 : pclose(bash);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << script;
    return absl::StrSplit(out, '\n', absl::SkipEmpty());
  }

  std::string root_;
};

TEST_F(CompletionTest, BashOffersEveryCommand) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  EXPECT_THAT(Completions("''"), IsSupersetOf(names));
  EXPECT_THAT(Completions("desc"), ElementsAre("describe"));
}

TEST_F(CompletionTest, BashOffersEveryFlagOfACommand) {
  for (const Command& command : Commands()) {
    std::vector<std::string> names;
    for (const FlagSpec& flag : command.flags()) names.push_back(absl::StrCat("--", flag.name));
    EXPECT_THAT(Completions(absl::StrCat(command.name, " --")), IsSupersetOf(names))
        << command.name;
  }
}

TEST_F(CompletionTest, BashOffersJobs) {
  EXPECT_THAT(Completions("stop sm"), ElementsAre("small", "smooth"));
  EXPECT_THAT(Completions("tree --job ''"), ElementsAre("big", "small", "smooth"));
  EXPECT_THAT(Completions("tree --job = sma"), ElementsAre("small"));
  EXPECT_THAT(Completions("checkpoints ''"), Contains("prune"));
  EXPECT_THAT(Completions("describe --state-dir /nowhere ''"), IsEmpty());
}

// bash completes file names itself if nothing is offered.
TEST_F(CompletionTest, FilesAreLeftToTheShell) {
  EXPECT_THAT(Completions("run job.ya"), IsEmpty());
  EXPECT_THAT(Completions("tree --svg ''"), IsEmpty());
}

}  // namespace
}  // namespace muster::cli
