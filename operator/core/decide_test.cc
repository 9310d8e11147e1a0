// Compares the list of policies in decide.h with the code.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr char kFolder[] = "operator/core/";

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  const size_t first = from + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

// The file names that the header lists.
std::vector<std::string> DocumentedPolicies() {
  const std::string text =
      absl::StrReplaceAll(Read(absl::StrCat(kFolder, "decide.h")), {{"\n// ", " "}});
  return absl::StrSplit(Between(text, "of its name: ", "."), ", ");
}

// The name of the header that declares a policy.
std::string HeaderOf(const std::string& policy) {
  const std::string declaration = absl::StrCat("void ", policy, "(Draft& draft);");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".h") continue;
    if (Read(entry.path()).find(declaration) != std::string::npos) return entry.path().stem();
  }
  return absl::StrCat("no header declares ", policy);
}

TEST(DecideTest, TheHeaderListsThePoliciesInTheOrderInWhichTheyRun) {
  const std::string table =
      Between(Read(absl::StrCat(kFolder, "decide.cc")), "kPolicies[] = {", "};");
  std::vector<std::string> policies;
  const std::regex word("\\w+");
  for (std::sregex_iterator it(table.begin(), table.end(), word), end; it != end; ++it) {
    policies.push_back(HeaderOf(it->str()));
  }
  ASSERT_FALSE(policies.empty());
  EXPECT_EQ(policies, DocumentedPolicies());
}

}  // namespace
}  // namespace muster::control
