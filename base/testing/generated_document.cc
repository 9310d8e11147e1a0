#include "base/testing/generated_document.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

enum class Difference { kFails, kIsWritten };

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string PutIn(std::string text, const std::vector<GeneratedPart>& parts,
                  Difference difference) {
  for (const auto& [name, wanted] : parts) {
    const std::string open = absl::StrCat("<!-- ", name, " -->\n");
    const size_t found = text.find(open);
    const size_t begin = found + open.size();
    const size_t end = found == std::string::npos ? found : text.find("<!-- end -->", begin);
    if (end == std::string::npos) {
      ADD_FAILURE() << "no place for " << name << ": write <!-- " << name
                    << " --> and <!-- end --> on lines of their own";
      continue;
    }
    const std::string shown = text.substr(begin, end - begin);
    if (difference == Difference::kFails) {
      EXPECT_EQ(shown, wanted) << "the part '" << name << "' differs: run tools/generate";
    }
    text.replace(begin, shown.size(), wanted);
  }
  return text;
}

}  // namespace

std::string CheckParts(std::string text, const std::vector<GeneratedPart>& parts) {
  return PutIn(std::move(text), parts, Difference::kFails);
}

void CheckDocument(const std::string& path, const std::vector<GeneratedPart>& parts) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    CheckParts(ReadText(path), parts);
    return;
  }
  const std::string full_path = absl::StrCat(workspace, "/", path);
  const std::string text = PutIn(ReadText(full_path), parts, Difference::kIsWritten);
  std::ofstream out(full_path, std::ios::binary);
  out << text;
  out.close();
  EXPECT_TRUE(out.good()) << "cannot write " << full_path;
}

}  // namespace muster
