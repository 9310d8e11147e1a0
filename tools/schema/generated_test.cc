#include "tools/schema/generated.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"

namespace muster::schema {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Generated, FilesInTheTreeAreUpToDate) {
  const absl::StatusOr<std::vector<GeneratedFile>> files = GenerateFiles(Read(kDescriptorPath));
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 4u);
  for (const GeneratedFile& file : *files) {
    EXPECT_TRUE(Read(file.path) == file.text)
        << file.path << " differs from what its .proto says; run tools/generate";
  }
}

TEST(Generated, EveryFieldIsExplained) {
  const absl::StatusOr<std::vector<GeneratedFile>> files = GenerateFiles(Read(kDescriptorPath));
  ASSERT_TRUE(files.ok()) << files.status();
  std::istringstream reference((*files)[1].text + (*files)[3].text);
  for (std::string line; std::getline(reference, line);) {
    EXPECT_FALSE(absl::StartsWith(line, "| `") && absl::EndsWith(line, "|  |")) << line;
  }
}

TEST(Generated, RefusesWhatIsNoDescriptorSet) {
  EXPECT_FALSE(GenerateFiles("nonsense").ok());
  EXPECT_EQ(GenerateFiles("").status().message(), "no message muster.v1alpha1.TrainingJob");
}

}  // namespace
}  // namespace muster::schema
