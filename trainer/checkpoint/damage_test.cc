// Tests with checkpoints that storage or people damaged.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/catalog.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/checkpoint/writer_test_util.h"

namespace muster::trainer {
namespace {

// Damages a checkpoint and checks the catalog's reason: the older one is used, nothing is deleted.
class DamageTest : public WriterTest {
 protected:
  void SetUp() override {
    Save(1);
    Save(2);
  }
  std::string Reason(const std::function<void(const std::string& path)>& damage) {
    damage("/ck/step-000000002/");
    const Strings before = Names();
    const auto found = FindNewestCheckpoint(files_, kUri, nullptr).value();
    EXPECT_EQ(found.directory, "step-000000001");
    EXPECT_EQ(NewestStep(), 1);
    EXPECT_EQ(Names(), before) << "nothing is deleted";
    return found.skipped.empty() ? "" : found.skipped.back().reason;
  }
  std::string Contents(const std::string& path) { return ReadFile(files_, path).value(); }
};

TEST_F(DamageTest, ACheckpointWithoutDoneIsSkipped) {
  EXPECT_EQ(Reason([&](const std::string& p) { ASSERT_TRUE(files_.Remove(p + "DONE").ok()); }),
            "half-written: DONE is missing");
}

TEST_F(DamageTest, ACheckpointWithATruncatedFileIsSkipped) {
  EXPECT_EQ(Reason([&](const std::string& p) {
              const std::string file = p + "model-00001-of-00001.safetensors";
              const std::string whole = Contents(file);
              ASSERT_TRUE(files_.Overwrite(file, whole.substr(0, 100)).ok());
            }).substr(0, 53),
            "truncated: model-00001-of-00001.safetensors has 100 b");
}

TEST_F(DamageTest, ACheckpointWithAFlippedBitIsSkipped) {
  const std::string reason = Reason([&](const std::string& p) {
    const std::string file = p + "optimizer-00001-of-00001.safetensors";
    std::string whole = Contents(file);
    whole[whole.size() - 5] ^= 1;
    ASSERT_TRUE(files_.Overwrite(file, whole).ok());
  });
  EXPECT_TRUE(absl::StartsWith(reason, "corrupted: optimizer-00001-of-00001.safetensors"))
      << reason;
}

TEST_F(DamageTest, ACheckpointWithAnAlteredManifestIsSkipped) {
  EXPECT_EQ(Reason([&](const std::string& p) {
              ASSERT_TRUE(
                  files_.Overwrite(p + "manifest.json", Contents(p + "manifest.json") + " ").ok());
            }),
            "corrupted: manifest.json is not the one DONE was written for");
}

TEST_F(DamageTest, ACheckpointWithAMissingFileIsSkipped) {
  EXPECT_EQ(
      Reason([&](const std::string& p) { ASSERT_TRUE(files_.Remove(p + "tokenizer.json").ok()); }),
      "incomplete: tokenizer.json is missing");
}

TEST_F(DamageTest, ALostShareIsNamedWithItsRankAndItsTensors) {
  Save(3, /*writers=*/3, /*divide=*/true);
  ASSERT_TRUE(files_.Remove("/ck/step-000000003/optimizer-00002-of-00003.safetensors").ok());
  const auto listings = ListCheckpoints(files_, kUri).value();
  ASSERT_EQ(listings.size(), 2u);
  EXPECT_EQ(listings[0].directory, "step-000000002") << "the newest that can be used comes first";
  EXPECT_EQ(listings[1].problem,
            "incomplete: optimizer-00002-of-00003.safetensors is missing; rank 1 of 3 saved 1 "
            "tensor, or a part of it, in it: embedding.m");
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000003").value();
  std::vector<std::byte> bytes(96);
  const absl::Status read = reader->Read("embedding.m", DataType::kF32, {6, 4}, bytes);
  EXPECT_TRUE(absl::StartsWith(read.message(),
                               "/ck/step-000000003: embedding.m: cannot read "
                               "optimizer-00002-of-00003.safetensors, which rank 1 of 3 saved: "))
      << read;
}

TEST_F(DamageTest, ForeignDirectoriesAreNamedAndLeftAlone) {
  ASSERT_TRUE(files_.MakeDirectories("/ck/holiday-photos").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/step-000000003.r1").ok());
  const auto found = FindNewestCheckpoint(files_, kUri, nullptr).value();
  EXPECT_EQ(found.directory, "step-000000002");
  ASSERT_EQ(found.skipped.size(), 2u);
  EXPECT_EQ(found.skipped[0].reason, "foreign: not a checkpoint's name");
  EXPECT_EQ(found.skipped[1].reason, "half-written, or set aside");
}

TEST_F(DamageTest, AReaderSeesCorruptionEvenWithoutVerifying) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  const std::string file = "/ck/step-000000002/model-00001-of-00001.safetensors";
  std::string whole = Contents(file);
  whole[whole.size() - 1] ^= 1;
  ASSERT_TRUE(files_.Overwrite(file, whole).ok());
  std::vector<std::byte> bytes(40);
  const absl::Status read = reader->Read("weight", DataType::kF32, {2, 5}, bytes);
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::EndsWith(read.message(), " are not those that were written by rank 0 of 1"))
      << read;
}

TEST_F(DamageTest, AnotherModelIsRefusedInOneSentence) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  const RunRecord& run = reader->manifest().run;
  const Json same = {{"model_type", "gpt2"}, {"n_layer", 2}, {"resid_pdrop", 0.5}};
  const Json other = {{"model_type", "gpt2"}, {"n_layer", 12}};
  EXPECT_TRUE(CheckCompatible(run, same, 257, "").ok());
  EXPECT_EQ(CheckCompatible(run, other, 257, "").message(),
            "the checkpoint is of another model: n_layer is 2 there, 12 here");
  const Json longer = {{"rope_scaling", {{"factor", 2.0}, {"rope_type", "linear"}}}};
  EXPECT_EQ(CheckCompatible(run, longer, 257, "").message(),
            "the checkpoint is of another model: rope_scaling is absent there, "
            "{\"factor\":2.0,\"rope_type\":\"linear\"} here");
  EXPECT_EQ(CheckCompatible(run, same, 8192, "").message(),
            "the checkpoint's vocabulary has 257 tokens, this run's 8192");
  EXPECT_EQ(
      CheckCompatible(run, same, 257, "x").message(),
      "the checkpoint was trained with another tokenizer, which has the same number of tokens "
      "but different ones");
  const auto found = FindNewestCheckpoint(files_, kUri, [&](const Manifest& manifest) {
    return CheckCompatible(manifest.run, other, 257, "");
  });
  EXPECT_EQ(found.status().message(),
            "/ck/step-000000002: the checkpoint is of another model: n_layer is 2 there, 12 here");
}

TEST_F(DamageTest, TensorsOfAnotherShapeAreRefused) {
  auto reader = CheckpointReader::Open(files_, "/ck/step-000000002").value();
  std::vector<std::byte> bytes(40);
  EXPECT_EQ(reader->Read("weight", DataType::kF32, {5, 2}, bytes).message(),
            "/ck/step-000000002: weight is F32[2, 5] there, F32[5, 2] here");
  EXPECT_EQ(reader->Read("bias", DataType::kF32, {5}, bytes).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::trainer
