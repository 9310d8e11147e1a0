#include "cli/jobs/worker_program.h"

#include "base/json.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

Json Prints(const std::vector<std::string>& command, Files& files) {
  return ParseJson(ScriptHashes(command, "/home", files)).value();
}

class ScriptHashesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& contents) {
    ASSERT_TRUE(WriteFileAtomically(files_, path, contents).ok());
  }
  void SetUp() override { ASSERT_TRUE(files_.MakeDirectories("/home").ok()); }

  MemoryFiles files_;
};

TEST_F(ScriptHashesTest, FindsScriptsAmongWordsAndInShellLines) {
  Write("/home/train.py", "print(1)");
  Write("/home/prepare", "#!/bin/sh\n");
  Write("/home/words.txt", "data");
  const Json prints =
      Prints({"sh", "-c", "./prepare && python3 train.py --data words.txt | tee log.txt"}, files_);
  EXPECT_EQ(prints.size(), 2u) << prints;
  EXPECT_TRUE(prints.contains("train.py"));
  EXPECT_TRUE(prints.contains("./prepare"));
}

TEST_F(ScriptHashesTest, OtherContentsHaveAnotherHash) {
  Write("/home/train.py", "print(1)");
  const Json before = Prints({"python3", "train.py"}, files_);
  EXPECT_EQ(Prints({"python3", "train.py"}, files_), before);
  Write("/home/train.py", "print(2)");
  EXPECT_NE(Prints({"python3", "train.py"}, files_), before);
}

TEST_F(ScriptHashesTest, AProgramByItsPathCountsWhateverItIs) {
  Write("/home/trainer",
        "\x7f"
        "ELF");
  EXPECT_TRUE(Prints({"./trainer"}, files_).contains("./trainer"));
  EXPECT_EQ(Prints({"trainer"}, files_), Json::object()) << "that is looked up in PATH";
}

}  // namespace
}  // namespace muster::cli
