#include "trainer/checkpoint/export.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/writer_test_util.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCheckpoint[] = "/ck/step-000000002";
constexpr char kOut[] = "/models/model-2";
// The embedding has 96 bytes, the weight 40.
constexpr uint64_t kAll = 136;

class ExportTest : public WriterTest {
 protected:
  // Every tensor is in three parts, in the files of three writers.
  void SaveInParts() {
    ASSERT_EQ(Save(2, 3, /*divide=*/true).error(), "");
    ASSERT_FALSE(Exists(files_, JoinPath(kCheckpoint, "model.safetensors.index.json")));
    // The parent is durable before anything is exported.
    ASSERT_TRUE(files_.MakeDirectories("/models").ok());
    ASSERT_TRUE(files_.SyncDirectory("/").ok());
  }
  absl::StatusOr<ExportedModel> Export(uint64_t max_shard_bytes = kAll) {
    return ExportModel(files_, kCheckpoint, files_, kOut, max_shard_bytes);
  }
  // Checks that the file has these tensors of the state of step 2, whole, and no others.
  void ExpectTensors(const std::string& file, const Strings& names) {
    const auto opened = files_.Open(JoinPath(kOut, file));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto header = ReadSafetensorsHeader(**opened);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->metadata.at("format"), "pt");
    const State state = StateAt(2);
    std::map<std::string, SnapshotTensor> expected;
    for (const SnapshotTensor& tensor : TensorsOf(state)) expected[tensor.name] = tensor;
    Strings found;
    for (const StoredTensor& tensor : header->tensors) {
      found.push_back(tensor.name);
      const SnapshotTensor& want = expected.at(tensor.name);
      EXPECT_EQ(tensor.type, want.type);
      EXPECT_EQ(tensor.shape, want.shape);
      ASSERT_EQ(tensor.bytes, want.bytes.size());
      std::string bytes(tensor.bytes, '\0');
      ASSERT_TRUE((*opened)->Read(tensor.offset, bytes.data(), bytes.size()).ok());
      EXPECT_EQ(std::memcmp(bytes.data(), want.bytes.data(), bytes.size()), 0) << tensor.name;
    }
    EXPECT_EQ(found, names);
  }
  std::string Contents(const std::string& path) { return ReadFile(files_, path).value(); }
  void FlipTheLastBit(const std::string& file) {
    const std::string path = JoinPath(kCheckpoint, file);
    std::string contents = Contents(path);
    contents.back() ^= 1;
    ASSERT_TRUE(files_.Overwrite(path, contents).ok());
  }
};

TEST_F(ExportTest, WeightsInPartsBecomeWhole) {
  SaveInParts();
  const auto exported = Export();
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->step, 2);
  EXPECT_EQ(exported->tensors, 2u);
  EXPECT_EQ(exported->bytes, kAll);
  EXPECT_EQ(exported->shards, 1u);
  EXPECT_THAT(Names(kOut), ElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  ExpectTensors("model.safetensors", {"embedding", "weight"});
  EXPECT_EQ(Contents(JoinPath(kOut, "config.json")),
            Contents(JoinPath(kCheckpoint, "config.json")));
  EXPECT_EQ(Contents(JoinPath(kOut, "tokenizer.json")), "{}");
  EXPECT_THAT(Names("/models"), ElementsAre("model-2"));
}

TEST_F(ExportTest, MoreBytesThanTheLimitBecomeShardsWithAnIndex) {
  SaveInParts();
  const auto exported = Export(kAll - 1);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->shards, 2u);
  EXPECT_THAT(Names(kOut), ElementsAre("config.json", "model-00001-of-00002.safetensors",
                                       "model-00002-of-00002.safetensors",
                                       "model.safetensors.index.json", "tokenizer.json"));
  ExpectTensors("model-00001-of-00002.safetensors", {"embedding"});
  ExpectTensors("model-00002-of-00002.safetensors", {"weight"});
  EXPECT_EQ(ParseJson(Contents(JoinPath(kOut, "model.safetensors.index.json"))).value(),
            Json({{"metadata", {{"total_size", kAll}}},
                  {"weight_map",
                   {{"embedding", "model-00001-of-00002.safetensors"},
                    {"weight", "model-00002-of-00002.safetensors"}}}}));
}

TEST_F(ExportTest, ATensorAboveTheLimitHasAShardOfItsOwn) {
  SaveInParts();
  ASSERT_TRUE(Export(1).ok());
  ExpectTensors("model-00001-of-00002.safetensors", {"embedding"});
  ExpectTensors("model-00002-of-00002.safetensors", {"weight"});
}

TEST_F(ExportTest, ADamagedPartIsNamedAndLeavesNothing) {
  SaveInParts();
  FlipTheLastBit("model-00002-of-00003.safetensors");
  const absl::Status status = Export().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("/ck/step-000000002: weight: the bytes in model-00002-of-00003.safetensors"));
  EXPECT_THAT(Names("/models"), ElementsAre());
}

TEST_F(ExportTest, AMissingPartIsNamedAndLeavesNothing) {
  SaveInParts();
  ASSERT_TRUE(files_.Remove(JoinPath(kCheckpoint, "model-00003-of-00003.safetensors")).ok());
  const absl::Status status = Export().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("model-00003-of-00003.safetensors"));
  EXPECT_THAT(Names("/models"), ElementsAre());
}

TEST_F(ExportTest, ADamagedTokenizerIsNamed) {
  SaveInParts();
  FlipTheLastBit("tokenizer.json");
  const absl::Status status = Export().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            "/ck/step-000000002: the bytes of tokenizer.json are not those that were written");
  EXPECT_THAT(Names("/models"), ElementsAre());
}

// Damage of the optimizer's state does not matter, because it is not read.
TEST_F(ExportTest, TheOptimizersStateIsNotRead) {
  SaveInParts();
  FlipTheLastBit("optimizer-00001-of-00003.safetensors");
  EXPECT_TRUE(Export().ok());
}

TEST_F(ExportTest, OnlyANewOrEmptyDirectoryIsWritten) {
  SaveInParts();
  ASSERT_TRUE(files_.MakeDirectories(kOut).ok());
  ASSERT_TRUE(ExportModel(files_, kCheckpoint, files_, absl::StrCat(kOut, "/"), kAll).ok());
  ExpectTensors("model.safetensors", {"embedding", "weight"});
  const absl::Status again = Export(1).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(again.message(),
            "/models/model-2 is there already; name a directory that is new or empty");
  EXPECT_THAT(Names(kOut), ElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  EXPECT_THAT(Names("/models"), ElementsAre("model-2"));
}

TEST_F(ExportTest, WhatAnotherExportLeftIsNotTouched) {
  SaveInParts();
  const std::string left = absl::StrCat(kOut, ".partial/config.json");
  ASSERT_TRUE(files_.MakeDirectories(ParentPath(left)).ok());
  ASSERT_TRUE(CreateExclusive(files_, left, "other").ok());
  const absl::Status status = Export().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/models/model-2.partial is there"));
  EXPECT_EQ(Contents(left), "other");
}

TEST_F(ExportTest, WithoutSpaceNothingIsLeft) {
  SaveInParts();
  const uint64_t used = (uint64_t{1} << 40) - [this] {
    files_.SetCapacity(uint64_t{1} << 40);
    return files_.FreeBytes("/").value();
  }();
  // config.json fits. Then the weights do not fit at all, or not with their header.
  for (const uint64_t more : {uint64_t{150}, uint64_t{300}}) {
    files_.SetCapacity(used + more);
    EXPECT_EQ(Export().status().code(), absl::StatusCode::kResourceExhausted) << more;
    EXPECT_THAT(Names("/models"), ElementsAre()) << more;
  }
  files_.SetCapacity(used + 2000);
  EXPECT_TRUE(Export().ok());
}

TEST_F(ExportTest, ACrashLeavesNoDirectoryThatLooksComplete) {
  SaveInParts();
  int killed = 0;
  for (;; ++killed) {
    files_.KillAfter(killed);
    const absl::Status status = Export(kAll - 1).status();
    files_.Crash();
    if (Exists(files_, kOut)) {
      EXPECT_EQ(Names(kOut).size(), 5u) << killed;
      ExpectTensors("model-00001-of-00002.safetensors", {"embedding"});
      ExpectTensors("model-00002-of-00002.safetensors", {"weight"});
    }
    if (status.ok()) break;
    ASSERT_TRUE(RemoveAll(files_, kOut).ok());
    ASSERT_TRUE(RemoveAll(files_, absl::StrCat(kOut, ".partial")).ok());
    ASSERT_TRUE(files_.SyncDirectory("/models").ok());
  }
  EXPECT_TRUE(Exists(files_, kOut));
  EXPECT_GT(killed, 15);
}

}  // namespace
}  // namespace muster::trainer
