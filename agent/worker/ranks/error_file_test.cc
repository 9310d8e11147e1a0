#include "agent/worker/ranks/error_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

// As ErrorHandler.record_exception of PyTorch 2.11 writes it.
TEST(ExceptionOfTest, IsTheMessageOfTheException) {
  EXPECT_EQ(ExceptionOf(R"({"message": {"message": "ValueError: no\ndata", "extraInfo":
                            {"py_callstack": "Traceback ...", "timestamp": "1795453788"}}})"),
            "ValueError: no data");
  EXPECT_EQ(ExceptionOf(R"({"message": "killed by the watchdog"})"), "killed by the watchdog");
}

TEST(ExceptionOfTest, IsEmptyForAnythingElse) {
  for (const char* text : {"", "{", "[]", "7", R"({"message": 7})", R"({"message": {}})",
                           R"({"message": {"message": ["x"]}})", R"({"error": "x"})"}) {
    EXPECT_EQ(ExceptionOf(text), "") << text;
  }
}

TEST(ExceptionOfTest, IsCut) {
  EXPECT_EQ(ExceptionOf(absl::StrCat(R"({"message": ")", std::string(9000, 'x'), R"("})")),
            std::string(500, 'x'));
}

class ReadErrorFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/muster-error-file-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    std::ofstream(Path("good")) << R"({"message": "x"})";
  }
  void TearDown() override {
    for (const char* name : {"good", "pipe", "link"}) unlink(Path(name).c_str());
    rmdir(folder_.c_str());
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(ReadErrorFileTest, OnlyARegularFileIsRead) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink(Path("good").c_str(), Path("link").c_str()), 0);
  EXPECT_EQ(ReadErrorFile(Path("good")), "x");
  EXPECT_EQ(ReadErrorFile(Path("pipe")), "");
  EXPECT_EQ(ReadErrorFile(Path("link")), "");
  EXPECT_EQ(ReadErrorFile(Path("none")), "");
  EXPECT_EQ(ReadErrorFile(folder_), "");
}

}  // namespace
}  // namespace muster::agent
