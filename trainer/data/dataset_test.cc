#include "trainer/data/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/token_check.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {
namespace {

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() {
    options_.path = "/corpus.txt";
    options_.sequence = 8;
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog. ";
    Write("/corpus.txt", text);
  }
  void Write(const std::string& path, const std::string& contents) {
    ASSERT_TRUE(files_.MakeDirectories(ParentPath(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, path, contents).ok());
  }
  static std::vector<int64_t> All(const Tokens& tokens) {
    std::vector<int64_t> all(tokens.size());
    tokens.Copy(0, all);
    return all;
  }
  MemoryFiles files_;
  DatasetOptions options_;
};

TEST_F(DatasetTest, ByteTokensSplitAtTheTail) {
  options_.validation = 0.1;
  const Dataset dataset = OpenDataset(files_, options_).value();
  EXPECT_EQ(dataset.vocabulary, 257u);
  EXPECT_EQ(dataset.validation.size(), 900u);
  EXPECT_EQ(dataset.training.size(), 8100u);
  EXPECT_EQ(dataset.training.at(0), static_cast<uint32_t>('t'));
  EXPECT_GT(dataset.unigram_entropy, 2.0);
  EXPECT_LT(dataset.unigram_entropy, std::log(28.0));
}

TEST_F(DatasetTest, TrainedTokenizerIsTheSameWithAndWithoutTheCache) {
  options_.tokenizer = DatasetOptions::TokenizerKind::kBpe;
  options_.tokenizer_vocabulary = 300;
  const Dataset plain = OpenDataset(files_, options_).value();
  options_.cache_directory = "/cache";
  const Dataset writes = OpenDataset(files_, options_).value();
  EXPECT_EQ(files_.List("/cache")->size(), 2u) << "a token file and a tokenizer";
  const int64_t changes = files_.changes();
  const Dataset reads = OpenDataset(files_, options_).value();
  EXPECT_EQ(files_.changes(), changes) << "the second rank only reads";
  EXPECT_EQ(plain.tokenizer->json(), reads.tokenizer->json());
  EXPECT_EQ(All(plain.training), All(writes.training));
  EXPECT_EQ(All(plain.training), All(reads.training));
}

TEST_F(DatasetTest, ADamagedCacheIsMadeAgain) {
  options_.cache_directory = "/cache";
  const std::vector<int64_t> good = All(OpenDataset(files_, options_)->training);
  const std::string path = "/cache/" + files_.List("/cache")->at(0).name;
  std::string contents = ReadFile(files_, path).value();
  for (const std::string& damaged :
       {contents.substr(0, 10), contents.substr(0, contents.size() - 2), std::string(),
        contents.substr(0, 100) + "x" + contents.substr(101)}) {
    ASSERT_TRUE(files_.Overwrite(path, damaged).ok());
    EXPECT_EQ(All(OpenDataset(files_, options_)->training), good);
    EXPECT_EQ(ReadFile(files_, path).value(), contents);
  }
}

TEST_F(DatasetTest, ACacheThatCannotBeWrittenIsNoError) {
  files_.SetFault([](MemoryFiles::Operation, const std::string& path) {
    return absl::PermissionDeniedError(path);
  });
  options_.tokenizer = DatasetOptions::TokenizerKind::kBpe;
  options_.tokenizer_vocabulary = 300;
  options_.cache_directory = "/cache";
  EXPECT_TRUE(OpenDataset(files_, options_).ok());
}

TEST_F(DatasetTest, DocumentsOfADirectoryAreSeparated) {
  Write("/d/1", "aaaaaaaaaa");
  Write("/d/2", "bb");
  options_.path = "/d";
  const Dataset dataset = OpenDataset(files_, options_).value();
  ASSERT_EQ(dataset.training.size(), 13u);
  EXPECT_EQ(dataset.training.at(10), 256u);
}

TEST_F(DatasetTest, TooFewTokensAreRefusedWithTheNumbers) {
  Write("/short", "12345678");
  options_.path = "/short";
  EXPECT_EQ(OpenDataset(files_, options_).status().message(),
            "/short: 8 tokens are too few: one sequence of 8 needs 9");
  Write("/short", "123456789");
  EXPECT_TRUE(OpenDataset(files_, options_).ok());
  options_.validation = 0.1;
  EXPECT_EQ(
      OpenDataset(files_, options_).status().message(),
      "/short: 9 tokens are too few: one sequence of 8 needs 9, and 9 are kept for validation");
}

TEST_F(DatasetTest, ATokenFileHasTheVocabularyOfItsTokenizerOrNone) {
  Write("/tokens.bin", std::string(40, '\x01'));
  Write("/tokenizer.json", OpenDataset(files_, options_)->tokenizer->json());
  options_.path = "/tokens.bin";
  options_.format = DatasetOptions::Format::kTokens;
  const Dataset dataset = OpenDataset(files_, options_).value();
  EXPECT_EQ(dataset.vocabulary, 0u);
  EXPECT_EQ(dataset.tokenizer, nullptr);
  options_.tokenizer_path = "/tokenizer.json";
  EXPECT_EQ(OpenDataset(files_, options_)->vocabulary, 257u);
}

TEST_F(DatasetTest, NoTokenizerIsTrainedOnTokens) {
  Write("/tokens.bin", std::string(40, '\x01'));
  options_.path = "/tokens.bin";
  options_.format = DatasetOptions::Format::kTokens;
  options_.tokenizer = DatasetOptions::TokenizerKind::kBpe;
  options_.tokenizer_vocabulary = 500;
  EXPECT_EQ(OpenDataset(files_, options_).status().message(),
            "data.tokenizer: no tokenizer is trained on format Tokens, which another one has made: "
            "give the uri of that, or leave it out and set model.vocabulary");
}

// A quarter of a terabyte, most of it a hole: reading all of it would take longer than a test may.
TEST_F(DatasetTest, OpeningATokenFileDoesNotScanIt) {
  options_.path = testing::TempDir() + "/huge.bin";
  options_.format = DatasetOptions::Format::kTokens;
  options_.validation = 0.05;
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), options_.path, "").ok());
  constexpr int64_t kBytes = int64_t{1} << 38;
  ASSERT_EQ(truncate(options_.path.c_str(), kBytes), 0);
  const auto dataset = OpenDataset(FileSystem(), options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->training.size() + dataset->validation.size(), kBytes / 2u);
  EXPECT_EQ(dataset->unigram_entropy, 0.0);
  EXPECT_TRUE(CheckTokenIds(dataset->training, 1).ok());
  EXPECT_TRUE(FileSystem().Remove(options_.path).ok());
}

TEST(UnigramEntropyTest, IsZeroForOneTokenAndTheLogarithmOfTheirNumberForEquallyFrequentOnes) {
  EXPECT_EQ(UnigramEntropy(TokensInMemory(std::vector<uint32_t>(100, 7), TokenType::kU16)), 0.0);
  std::vector<uint32_t> even;
  for (uint32_t i = 0; i < 1000; ++i) even.push_back(70000 + i % 10);
  EXPECT_NEAR(UnigramEntropy(TokensInMemory(even, TokenType::kU32)), std::log(10.0), 1e-12);
}

}  // namespace
}  // namespace muster::trainer
