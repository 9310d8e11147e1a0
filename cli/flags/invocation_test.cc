#include "cli/flags/invocation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReadInvocation, CommonFlagsMayStandBeforeTheCommand) {
  const auto invocation = ReadInvocation({"--state-dir", "/s", "--server=h:1", "get", "small"});
  ASSERT_TRUE(invocation.ok()) << invocation.status();
  EXPECT_EQ(invocation->command, "get");
  EXPECT_THAT(invocation->arguments, ElementsAre("--state-dir", "/s", "--server=h:1", "small"));
  EXPECT_FALSE(invocation->help);
}

TEST(ReadInvocation, OtherFlagsMayNot) {
  EXPECT_EQ(ReadInvocation({"--follow", "logs"}).status(),
            absl::InvalidArgumentError("--follow stands before the command: only --state-dir and "
                                       "--server may, a command's own flags come after it"));
}

TEST(ReadInvocation, HelpIsAskedForInEveryPlace) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"help", "logs"}, {"logs", "--help"}, {"--help", "logs"}, {"logs", "small", "-h"}}) {
    const auto invocation = ReadInvocation(arguments);
    ASSERT_TRUE(invocation.ok()) << invocation.status();
    EXPECT_TRUE(invocation->help);
    EXPECT_EQ(invocation->command, "logs");
  }
  const auto own = ReadInvocation({"run", "--", "--help"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(own->help) << "it is the name of a file";
}

TEST(ReadInvocation, WithoutACommandThereIsNone) {
  EXPECT_THAT(ReadInvocation({})->command, IsEmpty());
  EXPECT_TRUE(ReadInvocation({"--version"})->version);
}

TEST(DidYouMean, NamesWhatIsNear) {
  EXPECT_EQ(DidYouMean("chekpoints", {"get", "checkpoints"}), "; did you mean checkpoints?");
  EXPECT_EQ(DidYouMean("frobnicate", {"get", "checkpoints"}), "");
}

}  // namespace
}  // namespace muster::cli
