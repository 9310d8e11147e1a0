#include "cli/flags/completion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

int Nothing(const std::vector<std::string>&) { return 0; }

std::vector<FlagSpec> TreeLike() {
  return {{"job", "", false, Names::kJob}, {"json", "", true}, {"svg", ""}};
}
std::vector<FlagSpec> None() { return {}; }

const std::vector<Command> kCommands = {
    {"tree", "", "", &Nothing, &TreeLike},
    {"stop", "", "", &Nothing, &None, {}, Names::kJob},
    {"checkpoints", "", "", &Nothing, &None, {"prune"}, Names::kJob},
    {"completion", "", "", &Nothing, &None, {"bash", "zsh"}},
};

// Completes a line whose last word is under the cursor.
Completion At(std::vector<std::string> words) {
  words.insert(words.begin(), "muster");
  const size_t at = words.size() - 1;
  return Complete({std::move(words), at}, kCommands);
}

TEST(Complete, CommandsByTheirBeginning) {
  EXPECT_THAT(At({""}).words, ElementsAre("tree", "stop", "checkpoints", "completion"));
  EXPECT_THAT(At({"c"}).words, ElementsAre("checkpoints", "completion"));
  EXPECT_THAT(At({"x"}).words, IsEmpty());
  EXPECT_THAT(At({"--state-dir", "/s", "s"}).words, ElementsAre("stop"));
  EXPECT_THAT(At({"--state-dir=/s", "s"}).words, ElementsAre("stop"));
  EXPECT_THAT(At({"--s"}).words, ElementsAre("--state-dir", "--server"));
  EXPECT_THAT(At({"--state-dir", ""}).words, IsEmpty()) << "that is a folder";
}

TEST(Complete, FlagsOfTheCommandAlone) {
  EXPECT_THAT(At({"tree", "--"}).words, ElementsAre("--job", "--json", "--svg", "--help"));
  EXPECT_THAT(At({"tree", "--j"}).words, ElementsAre("--job", "--json"));
  EXPECT_THAT(At({"stop", "--jo"}).words, IsEmpty());
  EXPECT_THAT(At({"nothing", "--jo"}).words, IsEmpty());
}

TEST(Complete, JobsWhereOneIsNamed) {
  EXPECT_EQ(At({"stop", "sm"}).names, Names::kJob);
  EXPECT_EQ(At({"stop", "sm"}).begin, "sm");
  EXPECT_EQ(At({"tree", "--job", "sm"}).names, Names::kJob);
  EXPECT_EQ(At({"tree", "--json", "sm"}).names, Names::kOther) << "a switch has no value";
  EXPECT_EQ(At({"tree", "--svg", "sm"}).names, Names::kOther);
  EXPECT_EQ(At({"tree", ""}).names, Names::kOther);
  const Completion both = At({"checkpoints", ""});
  EXPECT_THAT(both.words, ElementsAre("prune"));
  EXPECT_EQ(both.names, Names::kJob);
}

TEST(Complete, AValueBehindAnEqualsSign) {
  // The words as bash splits them, and as zsh does.
  for (const Completion& one : {At({"tree", "--job", "=", "sm"}), At({"tree", "--job=sm"})}) {
    EXPECT_EQ(one.names, Names::kJob);
    EXPECT_EQ(one.begin, "sm");
  }
  EXPECT_EQ(At({"tree", "--job", "="}).begin, "");
  EXPECT_EQ(At({"tree", "--job", "="}).names, Names::kJob);
  EXPECT_EQ(At({"tree", "--job=sm"}).before, "--job=");
  EXPECT_EQ(At({"tree", "--job", "=", "sm"}).before, "");
}

TEST(Complete, AnyCursorOnAnyLineIsAccepted) {
  for (size_t at = 0; at < 9; ++at) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{}, {"muster"}, {"muster", "=", "--", "="}}) {
      Complete({words, at}, kCommands);
    }
  }
  EXPECT_EQ(StateDirOn({{"muster", "get", "--state-dir"}, 1}), "");
  EXPECT_EQ(StateDirOn({{"muster", "get", "--state-dir", "/a"}, 1}), "/a");
  EXPECT_EQ(StateDirOn({{"muster", "get", "--state-dir", "=", "/a"}, 1}), "/a");
  EXPECT_EQ(StateDirOn({{"muster", "get", "--state-dir=/a"}, 1}), "/a");
}

}  // namespace
}  // namespace muster::cli
