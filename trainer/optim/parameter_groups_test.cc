#include "trainer/optim/parameter_groups.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

ParameterGroups Make(const std::vector<ParameterGroup>& groups) {
  auto made = ParameterGroups::Make(groups);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

TEST(ParameterGroupsTest, AParameterIsOfTheFirstGroupThatFindsIt) {
  const ParameterGroups groups = Make({{.match = "h\\.0\\.", .rate_factor = 0.5},
                                       {.match = "bias$", .weight_decay = 0.3},
                                       {.match = "^wte", .rate_factor = 0.0, .weight_decay = 0.0}});
  EXPECT_EQ(groups.SettingsOf("h.0.bias", false), (UpdateSettings{.rate_factor = 0.5}));
  EXPECT_EQ(groups.SettingsOf("h.1.bias", false), (UpdateSettings{.weight_decay = 0.3}));
  EXPECT_EQ(groups.SettingsOf("wte.weight", true),
            (UpdateSettings{.decay = true, .weight_decay = 0.0, .rate_factor = 0.0}));
  EXPECT_EQ(groups.SettingsOf("h.1.weight", true), (UpdateSettings{.decay = true}));
}

TEST(ParameterGroupsTest, AnExpressionThatCannotBeReadOrFindsNothingIsRefusedByName) {
  const absl::Status unread = ParameterGroups::Make({{.match = "a"}, {.match = "("}}).status();
  EXPECT_EQ(unread.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      unread.message(),
      "optimizer.groups[1].match: \"(\" is no regular expression in RE2 syntax: missing ): (");
  const ParameterGroups groups = Make({{.match = "norm"}, {.match = "wte"}});
  EXPECT_TRUE(groups.CheckAllFind({"wte.weight", "norm.weight"}).ok());
  EXPECT_EQ(groups.CheckAllFind({"ln_f.weight", "wte.weight"}).message(),
            "optimizer.groups[0].match: \"norm\" finds none of the model's parameters, which have "
            "names such as ln_f.weight and wte.weight");
}

}  // namespace
}  // namespace muster::trainer
