#include "trainer/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {
namespace {

std::string File(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + std::string(data_bytes, 'x');
}

std::string Error(const std::string& header, size_t data_bytes) {
  const std::string file = File(header, data_bytes);
  return std::string(ParseSafetensorsHeader(file, file.size()).status().message());
}

std::span<const std::byte> Bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

TEST(SafetensorsTest, WritesWhatItReads) {
  MemoryFiles files;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {7};
  const std::vector<std::byte> small(3, std::byte{9});
  const std::vector<TensorView> views = {{"small", DataType::kU8, {3}, small},
                                         {"b", DataType::kF32, {}, Bytes(b)},
                                         {"a", DataType::kF32, {2, 3}, Bytes(a)},
                                         {"none", DataType::kF64, {0, 7}, {}}};
  const auto written = WriteSafetensors(files, "/t", views, {{"format", "pt"}});
  ASSERT_TRUE(written.ok()) << written.status();
  auto file = files.Open("/t").value();
  EXPECT_EQ(file->size(), written->bytes);
  const SafetensorsHeader header = ReadSafetensorsHeader(*file).value();
  EXPECT_EQ(header.metadata.at("format"), "pt");
  ASSERT_EQ(header.tensors.size(), 4u);
  EXPECT_EQ(header.tensors[0].name, "none") << "wider types first";
  EXPECT_EQ(header.tensors[0].offset % 64, 0u);
  EXPECT_EQ(header.tensors[1].name, "a");
  EXPECT_EQ(header.tensors[1].shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> back(6);
  ASSERT_TRUE(file->Read(header.tensors[1].offset, reinterpret_cast<char*>(back.data()), 24).ok());
  EXPECT_EQ(back, a);
  EXPECT_EQ(WriteSafetensors(files, "/t", views, {}).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(SafetensorsTest, RefusesTensorsWhoseBytesDoNotFitTheirShape) {
  MemoryFiles files;
  const std::vector<float> a = {1, 2};
  const std::vector<TensorView> wrong = {{"a", DataType::kF32, {3}, Bytes(a)}};
  EXPECT_EQ(WriteSafetensors(files, "/t", wrong, {}).status().message(),
            "safetensors: a: its bytes do not fit its shape");
  const std::vector<TensorView> twice = {{"a", DataType::kF32, {2}, Bytes(a)},
                                         {"a", DataType::kF32, {2}, Bytes(a)}};
  EXPECT_EQ(WriteSafetensors(files, "/t", twice, {}).status().message(),
            "safetensors: a: given twice");
  EXPECT_FALSE(Exists(files, "/t"));
}

TEST(SafetensorsTest, RefusesHostileHeaders) {
  EXPECT_EQ(ParseSafetensorsHeader("1234", 4).status().message(),
            "safetensors: the file of 4 bytes is too short");
  std::string huge(8, '\xFF');
  EXPECT_EQ(ParseSafetensorsHeader(huge, 100).status().message(),
            "safetensors: a header of 18446744073709551615 bytes is over the limit of 100000000");
  std::string file = File("{}", 0);
  EXPECT_EQ(ParseSafetensorsHeader(file, 9).status().message(),
            "safetensors: the header of 2 bytes reaches past the file's end");
  EXPECT_TRUE(ParseSafetensorsHeader(file, file.size()).ok());
  EXPECT_EQ(Error("[]", 0), "safetensors: the header must be an object");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
            "safetensors: a: dtype, shape or data_offsets is missing");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4),
            "safetensors: a: unknown dtype");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "safetensors: a: bad shape");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4),
            "safetensors: a: data_offsets lie outside the file");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "safetensors: a: data_offsets lie outside the file");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
            "safetensors: a: shape and dtype do not give its 4 bytes");
}

TEST(SafetensorsTest, RefusesShapesThatOverflow) {
  EXPECT_EQ(
      Error(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0),
      "safetensors: a: shape and dtype do not give its 0 bytes");
  EXPECT_EQ(ElementCount({int64_t{1} << 62}), std::nullopt);
  EXPECT_EQ(ElementCount({int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
  EXPECT_EQ(ElementCount({0, int64_t{1} << 58}), 0u);
  EXPECT_EQ(ElementCount({}), 1u);
}

TEST(SafetensorsTest, RefusesOverlapsAndHoles) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_EQ(Error("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6),
            "safetensors: b: overlaps another tensor");
  EXPECT_EQ(Error("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})", 6),
            "safetensors: b: unused bytes before it");
  EXPECT_EQ(Error("{" + a + "}", 6), "safetensors: unused bytes at the end");
}

TEST(SafetensorsTest, ATensorThatTheHeaderHasTwiceIsRefused) {
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string header = "{\"a\":" + tensor + ",\"a\":" + tensor + "}";
  const uint64_t length = header.size();
  const std::string file =
      std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + "1234";
  EXPECT_EQ(ParseSafetensorsHeader(file, file.size()).status().message(),
            "safetensors: header: the JSON has the key \"a\" twice in one object");
}

}  // namespace
}  // namespace muster::trainer
