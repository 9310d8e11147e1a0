#include "trainer/generate/request.h"

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(RequestTest, WithoutADirectoryItAsksForText) {
  const auto request = ReadRequest(
      R"({"checkpoint": "/ck/step-000000001", "prompt": "In", "json": true, "maxTokens": 7,
          "temperature": 0.5, "topK": 3, "topP": 0.9, "seed": 11})");
  ASSERT_TRUE(request.ok()) << request.status();
  const auto* text = std::get_if<TextRequest>(&*request);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->checkpoint, "/ck/step-000000001");
  EXPECT_EQ(text->prompt, "In");
  EXPECT_TRUE(text->as_json);
  EXPECT_EQ(text->options.max_tokens, 7);
  EXPECT_EQ(text->options.sampling.temperature, 0.5);
  EXPECT_EQ(text->options.sampling.top_k, 3);
  EXPECT_EQ(text->options.sampling.top_p, 0.9);
  EXPECT_EQ(text->options.seed, 11u);
}

TEST(RequestTest, WithADirectoryItAsksForAnExport) {
  const auto request = ReadRequest(
      R"({"checkpoint": "/ck", "out": "/m", "maxShardBytes": 5000000000, "json": false})");
  ASSERT_TRUE(request.ok()) << request.status();
  const auto* wanted = std::get_if<ExportRequest>(&*request);
  ASSERT_NE(wanted, nullptr);
  EXPECT_EQ(wanted->checkpoint, "/ck");
  EXPECT_EQ(wanted->out, "/m");
  EXPECT_EQ(wanted->max_shard_bytes, 5'000'000'000u);
  EXPECT_FALSE(wanted->as_json);
}

TEST(RequestTest, WhatIsMissingOrWrongIsNamed) {
  const auto error = [](const std::string& text) {
    const absl::Status status = ReadRequest(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  EXPECT_EQ(error("[]"), "the request is not a JSON object");
  EXPECT_EQ(error("{}"), "checkpoint is missing");
  EXPECT_EQ(error(R"({"checkpoint": 1})"), "checkpoint is of the wrong type: 1");
  EXPECT_EQ(error(R"({"checkpoint": "/ck", "out": "/m"})"), "maxShardBytes is missing");
  EXPECT_FALSE(ReadRequest("").ok());
}

}  // namespace
}  // namespace muster::trainer
