#include "trainer/checkpoint/pretrained.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/safetensors.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFolder[] = "/hf";
constexpr char kFile[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

// A directory with the weights of a model of two tensors: a [3, 2] of 0, 1, ... 5 and b [4] of 10,
// 11, 12, 13.
class PretrainedTest : public ::testing::Test {
 protected:
  PretrainedTest() {
    EXPECT_TRUE(files_.MakeDirectories(kFolder).ok());
    Put("config.json", R"({"model_type": "gpt2"})");
  }

  void Put(const std::string& name, const std::string& contents) {
    EXPECT_TRUE(WriteFileAtomically(files_, JoinPath(kFolder, name), contents).ok());
  }
  void PutTensors(const std::string& file, const std::vector<TensorView>& tensors,
                  const std::map<std::string, std::string>& metadata = {}) {
    const auto written = WriteSafetensors(files_, JoinPath(kFolder, file), tensors, metadata);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  TensorView A(const std::string& name = "model.a") const {
    return {name, DataType::kF32, {3, 2}, std::as_bytes(std::span(a_))};
  }
  TensorView B(const std::string& name = "model.b") const {
    return {name, DataType::kF32, {4}, std::as_bytes(std::span(b_))};
  }
  TensorView Mask(const std::string& name) const {
    return {name, DataType::kU8, {8}, std::as_bytes(std::span(b_)).first(8)};
  }
  absl::StatusOr<std::unique_ptr<PretrainedWeights>> Open() {
    return PretrainedWeights::Open(files_, kFolder);
  }
  // Returns the error of opening and checking, or nothing.
  std::string Error(const std::vector<WantedTensor>& wanted = Wanted()) {
    const auto weights = Open();
    return std::string((weights.ok() ? (*weights)->Check(wanted) : weights.status()).message());
  }
  static std::vector<WantedTensor> Wanted() { return {{"model.a", {3, 2}}, {"model.b", {4}}}; }
  std::vector<float> Part(const std::string& name, const std::vector<int64_t>& shape,
                          uint64_t begin, size_t count) {
    std::vector<float> out(count);
    const auto weights = Open();
    EXPECT_TRUE(weights.ok()) << weights.status();
    const absl::Status read = (*weights)->ReadPart(name, DataType::kF32, shape, begin,
                                                   std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(read.ok()) << read;
    return out;
  }

  MemoryFiles files_;
  const std::vector<float> a_ = {0, 1, 2, 3, 4, 5}, b_ = {10, 11, 12, 13};
};

TEST_F(PretrainedTest, ReadsPartsOfOneFile) {
  PutTensors(kFile, {A(), B()});
  EXPECT_EQ(Error(), "");
  EXPECT_EQ((*Open())->config()["model_type"], "gpt2");
  EXPECT_EQ((*Open())->size(), 2u);
  EXPECT_EQ(Part("model.a", {3, 2}, 0, 6), a_);
  EXPECT_THAT(Part("model.a", {3, 2}, 3, 2), ElementsAre(3, 4));
  EXPECT_THAT(Part("model.b", {4}, 3, 1), ElementsAre(13));
  EXPECT_THAT(Part("model.b", {4}, 4, 0), ElementsAre());
}

TEST_F(PretrainedTest, ReadsTheFilesThatTheIndexLists) {
  PutTensors("one.safetensors", {A()});
  PutTensors("two.safetensors", {B()});
  Put(kIndex, R"({"metadata": {"total_size": 40},
      "weight_map": {"model.a": "one.safetensors", "model.b": "two.safetensors"}})");
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(Part("model.a", {3, 2}, 0, 6), a_);
  EXPECT_EQ(Part("model.b", {4}, 0, 4), b_);
  PutTensors(kFile, {A(), B("model.c")});
  EXPECT_THAT(Error(), HasSubstr("this model has no model.c")) << "the one file comes first";
}

TEST_F(PretrainedTest, TheIndexDecidesWhereATensorIsThatTwoFilesHave) {
  PutTensors("one.safetensors",
             {A(), TensorView{"model.b", DataType::kF32, {4}, A().bytes.first(16)}});
  PutTensors("two.safetensors", {B()});
  Put(kIndex, R"({"weight_map": {"model.a": "one.safetensors", "model.b": "two.safetensors"}})");
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(Part("model.b", {4}, 0, 4), b_);
}

TEST_F(PretrainedTest, ConvertsOtherTypesInPieces) {
  constexpr size_t kCount = 700'001;  // more than one piece of two bytes each
  std::vector<uint16_t> halves(kCount, 0x3c00);
  halves[0] = 0xbf80;
  halves[600'000] = 0x4049;
  halves[kCount - 1] = 0x4000;
  PutTensors(kFile, {{"x", DataType::kBF16, {kCount}, std::as_bytes(std::span(halves))}});
  const std::vector<float> all = Part("model.x", {kCount}, 0, kCount);
  EXPECT_EQ(all[0], -1.0f);
  EXPECT_EQ(all[600'000], 3.140625f);
  EXPECT_EQ(all[kCount - 1], 2.0f);
  EXPECT_THAT(Part("model.x", {kCount}, 600'000, 1), ElementsAre(3.140625f));
  std::vector<double> wide(2);
  ASSERT_TRUE((*Open())
                  ->ReadPart("x", DataType::kF64, {kCount}, kCount - 2,
                             std::as_writable_bytes(std::span(wide)))
                  .ok());
  EXPECT_THAT(wide, ElementsAre(0.0078125, 2.0));
}

TEST_F(PretrainedTest, NamesMayLackTheirPrefix) {
  PutTensors(kFile, {A("a"), B("b")});
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(Part("model.b", {4}, 0, 4), b_);
  EXPECT_EQ(Error({{"transformer.a", {3, 2}}, {"transformer.b", {4}}}), "");
  EXPECT_THAT(Error({{"other.a", {3, 2}}, {"b", {4}}}), HasSubstr("it has no other.a"));
}

TEST_F(PretrainedTest, ATensorUnderBothNamesIsRefused) {
  PutTensors(kFile, {A(), B(), B("b")});
  EXPECT_THAT(Error(), HasSubstr("this model has no b"));
}

TEST_F(PretrainedTest, BuffersAndTheCopyOfATiedHeadAreIgnored) {
  PutTensors(kFile, {A(), B(), Mask("h.0.attn.bias"), Mask("transformer.h.1.attn.masked_bias"),
                     Mask("model.layers.0.self_attn.rotary_emb.inv_freq"),
                     Mask("rotary_emb.inv_freq"), A("lm_head.weight")});
  EXPECT_EQ(Error(), "");
  std::vector<WantedTensor> untied = Wanted();
  untied.push_back({"lm_head.weight", {4, 2}});
  EXPECT_THAT(Error(untied), HasSubstr("lm_head.weight is [3, 2] there, [4, 2] here"));
}

// Regression: safetensors' save_model keeps a tied weight under the head's name, and the embedding
// was missing.
TEST_F(PretrainedTest, ATiedWeightIsFoundUnderTheHeadsName) {
  PutTensors(kFile, {A("lm_head.weight"), B()});
  EXPECT_THAT(Error(), HasSubstr("it has no model.a"));
  const auto weights = Open();
  ASSERT_TRUE(weights.ok()) << weights.status();
  (*weights)->AlsoUnder("model.a", "lm_head.weight");
  EXPECT_TRUE((*weights)->Check(Wanted()).ok()) << (*weights)->Check(Wanted());
  std::vector<float> read(6);
  ASSERT_TRUE(
      (*weights)
          ->ReadPart("model.a", DataType::kF32, {3, 2}, 0, std::as_writable_bytes(std::span(read)))
          .ok());
  EXPECT_EQ(read, a_);
}

TEST_F(PretrainedTest, ATensorIsFoundUnderTheNameThatTheFilesMetadataSays) {
  PutTensors(kFile, {A("other"), B()}, {{"model.a", "other"}, {"format", "pt"}});
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(Part("model.a", {3, 2}, 0, 6), a_);
}

TEST_F(PretrainedTest, EveryDifferenceOfTheTensorsIsNamedAtOnce) {
  PutTensors(kFile, {A("model.odd"), B(), Mask("model.mask")});
  EXPECT_EQ(Error({{"model.a", {3, 2}}, {"model.b", {2, 2}}, {"model.mask", {8}}}),
            "/hf: the tensors are not those of the model: it has no model.a; model.b is [4] there, "
            "[2, 2] here; model.mask is of type U8, want F64, F32, F16 or BF16; this model has no "
            "model.odd");
}

TEST_F(PretrainedTest, OfManyDifferencesEightAreNamedAndTheRestIsCounted) {
  std::vector<TensorView> tensors;
  std::vector<WantedTensor> wanted;
  for (int i = 0; i < 11; ++i) {
    tensors.push_back(A("model." + std::to_string(100 + i)));
    wanted.push_back({tensors.back().name, {2, 3}});
  }
  PutTensors(kFile, tensors);
  EXPECT_THAT(Error(wanted), HasSubstr("model.107 is [3, 2] there, [2, 3] here; and 3 more"));
  EXPECT_THAT(Error(wanted), ::testing::Not(HasSubstr("model.108")));
}

TEST_F(PretrainedTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(
      Error(),
      "/hf: has neither model.safetensors nor model.safetensors.index.json; where weights are "
      "in another format, save_pretrained of transformers writes this one");
  Put(kIndex, R"({"weight_map": {"model.a": "one.safetensors"}})");
  EXPECT_THAT(Error(), HasSubstr("/hf/one.safetensors"));
  PutTensors("one.safetensors", {B()});
  EXPECT_EQ(Error(),
            "/hf/model.safetensors.index.json: says that model.a is in one.safetensors, which does "
            "not have it");
  ASSERT_TRUE(files_.Remove("/hf/config.json").ok());
  EXPECT_THAT(Error(), HasSubstr("/hf/config.json"));
  EXPECT_TRUE(absl::IsNotFound(PretrainedWeights::Open(files_, "/nowhere").status()));
  EXPECT_EQ(PretrainedWeights::Open(files_, "/hf/one.safetensors").status(),
            absl::InvalidArgumentError("/hf/one.safetensors: is not a directory"));
}

TEST_F(PretrainedTest, AnIndexThatLeavesTheDirectoryIsRefused) {
  for (const char* file : {"../x", "/x", "a/b", "..", ".", ""}) {
    Put(kIndex, DumpJson({{"weight_map", {{"model.a", file}}}}));
    EXPECT_EQ(Error(), "/hf/model.safetensors.index.json: weight_map: the file of model.a is \"" +
                           std::string(file) + "\", want the name of a file beside the index");
  }
}

TEST_F(PretrainedTest, AnIndexThatIsNoneIsRefused) {
  for (const char* text : {"{", "[]", "{}", R"({"weight_map": {}})", R"({"weight_map": ["a"]})",
                           R"({"weight_map": {"a": 3}})"}) {
    Put(kIndex, text);
    const auto weights = Open();
    EXPECT_TRUE(absl::IsInvalidArgument(weights.status())) << text << weights.status();
    EXPECT_THAT(std::string(weights.status().message()), HasSubstr(kIndex)) << text;
  }
}

TEST_F(PretrainedTest, ADamagedConfigIsRefused) {
  PutTensors(kFile, {A(), B()});
  Put("config.json", "{");
  EXPECT_THAT(Error(), HasSubstr("/hf/config.json: "));
}

TEST_F(PretrainedTest, ADamagedOrShortFileIsRefused) {
  PutTensors(kFile, {A(), B()});
  const std::string whole = ReadFile(files_, "/hf/model.safetensors").value();
  std::string damaged = whole;
  damaged[9] = '}';
  const std::map<std::string, std::string> bad = {
      {"header: ", damaged},
      {"data_offsets lie outside the file", whole.substr(0, whole.size() - 1)},
      {"reaches past the file's end", whole.substr(0, 20)},
      {"too short", "abc"},
      {"unused bytes at the end", whole + "x"}};
  for (const auto& [message, contents] : bad) {
    ASSERT_TRUE(files_.Overwrite("/hf/model.safetensors", contents).ok());
    const auto weights = Open();
    EXPECT_TRUE(absl::IsInvalidArgument(weights.status())) << weights.status();
    EXPECT_THAT(std::string(weights.status().message()), HasSubstr(message));
    EXPECT_THAT(std::string(weights.status().message()), HasSubstr("/hf/model.safetensors: "));
  }
}

TEST_F(PretrainedTest, APartThatIsNotThereIsRefused) {
  PutTensors(kFile, {A(), B()});
  const auto weights = Open();
  ASSERT_TRUE(weights.ok());
  std::vector<float> two(2);
  const auto into = std::as_writable_bytes(std::span(two));
  EXPECT_TRUE(absl::IsInternal((*weights)->ReadPart("model.b", DataType::kF32, {4}, 3, into)));
  EXPECT_TRUE(absl::IsInternal((*weights)->ReadPart("model.b", DataType::kF32, {4}, 9, into)));
  EXPECT_TRUE(
      absl::IsFailedPrecondition((*weights)->ReadPart("model.b", DataType::kF32, {2, 2}, 0, into)));
  EXPECT_TRUE(
      absl::IsFailedPrecondition((*weights)->ReadPart("model.c", DataType::kF32, {4}, 0, into)));
}

TEST_F(PretrainedTest, AFileThatChangedSinceItWasOpenedIsDataLoss) {
  PutTensors(kFile, {A(), B()});
  const auto weights = Open();
  ASSERT_TRUE(weights.ok());
  ASSERT_TRUE(files_.Overwrite("/hf/model.safetensors", "short").ok());
  std::vector<float> two(2);
  const absl::Status read = (*weights)->ReadPart("model.b", DataType::kF32, {4}, 0,
                                                 std::as_writable_bytes(std::span(two)));
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
}

TEST_F(PretrainedTest, ATensorThatTwoFilesHaveAndTheIndexDoesNotIsRefused) {
  PutTensors("one.safetensors", {A(), B()});
  PutTensors("two.safetensors", {A(), Mask("model.c")});
  Put(kIndex, R"({"weight_map": {"model.b": "one.safetensors", "model.c": "two.safetensors"}})");
  EXPECT_EQ(Error(),
            "/hf/two.safetensors: has the tensor model.a, as one.safetensors has; "
            "model.safetensors.index.json must say which of them counts");
}

TEST_F(PretrainedTest, AKeyThatConfigOrIndexHasTwiceIsRefused) {
  PutTensors(kFile, {A(), B()});
  Put("config.json", R"({"n_layer": 2, "n_layer": 3})");
  EXPECT_EQ(Error(), "/hf/config.json: the JSON has the key \"n_layer\" twice in one object");
}

}  // namespace
}  // namespace muster::trainer
