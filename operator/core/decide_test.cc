#include "operator/core/decide.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The names between "of its name:" and the full stop, in the header's words.
std::vector<std::string> DocumentedPolicies() {
  const std::string text = absl::StrReplaceAll(Read("operator/core/decide.h"), {{"\n// ", " "}});
  const std::string opening = "of its name: ";
  const size_t begin = text.find(opening);
  if (begin == std::string::npos) return {};
  const size_t from = begin + opening.size();
  return absl::StrSplit(text.substr(from, text.find('.', from) - from), ", ");
}

TEST(DecideTest, TheHeaderListsThePoliciesInTheirOrder) {
  std::vector<std::string> policies;
  for (absl::string_view file : PolicyFiles()) policies.emplace_back(file);
  EXPECT_EQ(DocumentedPolicies(), policies);
}

TEST(DecideTest, EachPolicyHasAFileOfItsName) {
  for (absl::string_view file : PolicyFiles()) {
    EXPECT_TRUE(std::filesystem::exists(absl::StrCat("operator/core/", file, ".cc"))) << file;
  }
}

}  // namespace
}  // namespace muster::control
