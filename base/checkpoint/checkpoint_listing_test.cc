#include "base/checkpoint/checkpoint_listing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/files/files.h"
#include "base/testing/memory_files.h"

namespace muster {
namespace {

class CheckpointListingTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& contents) {
    ASSERT_TRUE(files_.MakeDirectories(ParentPath(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, path, contents).ok());
  }
  void Make(const std::string& name, const std::string& manifest) {
    Write("/ck/" + name + "/manifest.json", manifest);
    Write("/ck/" + name + "/model", "12345");
    Write("/ck/" + name + "/DONE", CheckpointDoneContents(manifest));
  }
  static std::string Manifest(int step, int bytes) {
    return R"({"run":{"step":)" + std::to_string(step) +
           R"(,"round":3,"writers":2,"created":"now"},"files":[{"name":"model","bytes":)" +
           std::to_string(bytes) + "}]}";
  }
  MemoryFiles files_;
};

TEST_F(CheckpointListingTest, CompleteCheckpointsComeFirstNewestFirst) {
  Make("step-000000009", Manifest(9, 5));
  Make("step-000000100", Manifest(100, 5));
  Make("step-000000200", Manifest(200, 6));
  Make("step-000000300", Manifest(301, 5));
  ASSERT_TRUE(files_.MakeDirectories("/ck/step-000000400").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/step-000000500.r2").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/cache").ok());
  Write("/ck/notes.txt", "files are not listed");
  const auto listings = ListCheckpoints(files_, "/ck").value();
  ASSERT_EQ(listings.size(), 7u);
  EXPECT_EQ(listings[0].step, 100);
  EXPECT_TRUE(listings[0].complete);
  EXPECT_EQ(listings[0].bytes, 5u);
  EXPECT_EQ(listings[0].round, 3);
  EXPECT_EQ(listings[0].writers, 2);
  EXPECT_EQ(listings[0].created, "now");
  EXPECT_EQ(listings[1].step, 9);
  EXPECT_EQ(listings[2].problem, "foreign: not a checkpoint's name");
  EXPECT_EQ(listings[3].problem, "truncated: model has 5 bytes, not 6");
  EXPECT_EQ(listings[4].problem, "corrupted: its manifest is of step 301");
  EXPECT_EQ(listings[5].problem, "half-written: DONE is missing");
  EXPECT_EQ(listings[6].problem, "half-written, or set aside");
}

TEST_F(CheckpointListingTest, AManifestThatPointsOutsideIsNotFollowed) {
  Make("step-000000001", R"({"run":{"step":1},"files":[{"name":"../x","bytes":1}]})");
  EXPECT_EQ(InspectCheckpoint(files_, "/ck/step-000000001").problem,
            "corrupted: manifest.json names a file outside the directory");
  Make("step-000000002", "[]");
  EXPECT_EQ(InspectCheckpoint(files_, "/ck/step-000000002").problem,
            "foreign: manifest.json is not a checkpoint's");
}

TEST_F(CheckpointListingTest, NoDirectoryIsNoCheckpoint) {
  EXPECT_TRUE(ListCheckpoints(files_, "/nowhere")->empty());
}

TEST(CheckpointNameTest, OneSpellingPerStep) {
  EXPECT_EQ(CheckpointName(1000), "step-000001000");
  EXPECT_EQ(CheckpointName(12'345'678'901), "step-12345678901");
  EXPECT_EQ(PartialCheckpointName(7, 3), "step-000000007.r3");
  EXPECT_EQ(StepOfCheckpointName("step-000001000"), 1000);
  EXPECT_EQ(StepOfCheckpointName("step-12345678901"), 12'345'678'901);
  for (const char* name : {"step-1000", "step-", "step-0000010x0", "step--00000001", "x",
                           "step-000001000.r1", "step-99999999999999999999"}) {
    EXPECT_EQ(StepOfCheckpointName(name), -1) << name;
  }
}

}  // namespace
}  // namespace muster
