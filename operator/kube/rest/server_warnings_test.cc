#include "operator/kube/rest/server_warnings.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::kube {
namespace {

using Strings = std::vector<std::string>;

TEST(ServerWarningsTest, TheTextStandsInQuotes) {
  EXPECT_EQ(WarningText(R"(299 - "v1 Foo is deprecated")"), "v1 Foo is deprecated");
  EXPECT_EQ(WarningText(R"(299 - "a \"b\" \\ c" "date")"), R"(a "b" \ c)");
  EXPECT_EQ(WarningText("299 - \"a\x01\xc3\""), "a  ");
  for (const char* other :
       {"", "299", "299 - text", "299 - \"open", "299 - \"\"", "110 - \"stale\""}) {
    EXPECT_EQ(WarningText(other), std::nullopt) << other;
  }
}

TEST(ServerWarningsTest, EachWarningIsLoggedOnce) {
  ServerWarnings warnings;
  EXPECT_EQ(warnings.Log({"299 - \"a\"", "299 - \"b\"", "299 - \"a\""}), (Strings{"a", "b"}));
  EXPECT_EQ(warnings.Log({"299 - \"b\"", "299 - \"c\""}), (Strings{"c"}));
}

TEST(ServerWarningsTest, TheNumberOfLoggedWarningsIsBounded) {
  ServerWarnings warnings;
  size_t logged = 0;
  for (int i = 0; i < 1000; ++i) logged += warnings.Log({absl::StrCat("299 - \"", i, "\"")}).size();
  EXPECT_EQ(logged, ServerWarnings::kMost);
}

}  // namespace
}  // namespace muster::kube
