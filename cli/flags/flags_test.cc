#include "cli/flags/flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;

const std::vector<FlagSpec> kSpecs = {{"rank", "which rank"}, {"json", "as JSON", true}};

TEST(Flags, TakesValuesSwitchesAndPositionals) {
  const auto flags = Flags::Parse({"a", "--rank", "3", "--json", "b", "--", "--rank"}, kSpecs);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(*flags->GetInt("rank", 0), 3);
  EXPECT_TRUE(flags->Has("json"));
  EXPECT_THAT(flags->positional(), ElementsAre("a", "b", "--rank"));
}

TEST(Flags, OnlyTheFirstDoubleDashEndsTheFlags) {
  const auto flags = Flags::Parse({"--", "a", "--", "b"}, kSpecs);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_THAT(flags->positional(), ElementsAre("a", "--", "b"));
}

TEST(Flags, TakesAnEqualsSign) {
  EXPECT_EQ(Flags::Parse({"--rank=x=y"}, kSpecs)->Get("rank", ""), "x=y");
}

TEST(Flags, AnUnknownOneListsThoseThereAre) {
  EXPECT_EQ(Flags::Parse({"--rnak", "1"}, kSpecs).status(),
            absl::InvalidArgumentError(
                "there is no flag --rnak; did you mean --rank?; there are --rank, --json"));
}

TEST(Flags, AMissingValueAndAValueForASwitchAreErrors) {
  EXPECT_EQ(Flags::Parse({"--rank"}, kSpecs).status(),
            absl::InvalidArgumentError("--rank needs a value: which rank"));
  EXPECT_EQ(Flags::Parse({"--json=1"}, kSpecs).status(),
            absl::InvalidArgumentError("--json takes no value"));
}

TEST(Flags, HelpListsThem) {
  EXPECT_EQ(Flags::Parse({"a", "--help"}, kSpecs).status(),
            absl::CancelledError("flags:\n  --rank VALUE  which rank\n"
                                 "  --json        as JSON\n"));
}

TEST(Flags, ANumberMustBeOne) {
  EXPECT_EQ(Flags::Parse({"--rank=two"}, kSpecs)->GetInt("rank", 0).status(),
            absl::InvalidArgumentError("--rank needs a whole number, not 'two'"));
  EXPECT_EQ(*Flags::Parse({"--rank=0.5"}, kSpecs)->GetDouble("rank", 0), 0.5);
  EXPECT_EQ(*Flags::Parse({}, kSpecs)->GetDouble("rank", 0.25), 0.25);
  EXPECT_EQ(Flags::Parse({"--rank=half"}, kSpecs)->GetDouble("rank", 0).status(),
            absl::InvalidArgumentError("--rank needs a number, not 'half'"));
  EXPECT_EQ(Flags::Parse({"--rank=nan"}, kSpecs)->GetDouble("rank", 0).status(),
            absl::InvalidArgumentError("--rank needs a number, not 'nan'"));
  EXPECT_FALSE(Flags::Parse({"--rank=-inf"}, kSpecs)->GetDouble("rank", 0).ok());
}

}  // namespace
}  // namespace muster::cli
