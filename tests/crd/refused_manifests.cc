#include "tests/crd/refused_manifests.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"

namespace muster::tests {
namespace {

constexpr char kMark[] = "# refused: ";

}  // namespace

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Manifests(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml")
      files.push_back(std::filesystem::absolute(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void ExpectRefused(const CommandResult& answer, const std::string& manifest) {
  const std::string text = ReadText(manifest);
  ASSERT_TRUE(absl::StartsWith(text, kMark)) << manifest;
  const std::string sentence =
      text.substr(sizeof(kMark) - 1, text.find('\n') - (sizeof(kMark) - 1));
  EXPECT_FALSE(answer.ok()) << answer.out;
  EXPECT_TRUE(absl::StrContains(answer.err, sentence)) << answer.err;
}

std::string TestNameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem();
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
  return name;
}

}  // namespace muster::tests
