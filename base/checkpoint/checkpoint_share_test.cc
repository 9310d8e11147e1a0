#include "base/checkpoint/checkpoint_share.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace muster {
namespace {

TEST(CheckpointShareTest, TheNameOfAShareHasItsWriter) {
  EXPECT_EQ(WriterOfShare("model-00001-of-00001.safetensors"), "rank 0 of 1");
  EXPECT_EQ(WriterOfShare("optimizer-00002-of-00004.safetensors"), "rank 1 of 4");
  EXPECT_EQ(WriterOfShare("model-123456-of-200000.safetensors"), "rank 123455 of 200000");
  for (const char* other :
       {"", "config.json", "model.safetensors", "model-00000-of-00004.safetensors",
        "model-00005-of-00004.safetensors", "model-00002-of-00004.safetensors2", "model-2-of-",
        "model-99999999999-of-99999999999.safetensors"}) {
    EXPECT_EQ(WriterOfShare(other), "") << other;
  }
}

TEST(CheckpointShareTest, TheTensorsOfAShareAreCountedAndTheFirstAreNamed) {
  const Json manifest = Json::parse(R"({"tensors": [
      {"name": "a", "slices": [{"file": "model-00001-of-00002.safetensors"},
                               {"file": "model-00002-of-00002.safetensors"}]},
      {"name": "b", "slices": [{"file": "model-00002-of-00002.safetensors"}]},
      {"name": "c", "slices": [{"file": "model-00002-of-00002.safetensors"}]},
      {"name": "d", "slices": [{"file": "model-00002-of-00002.safetensors"}]},
      {"name": "e", "slices": [{"file": "model-00002-of-00002.safetensors"}]}, 7]})");
  EXPECT_EQ(ContentsOfShare(manifest, "model-00001-of-00002.safetensors"),
            "; rank 0 of 2 saved 1 tensor, or a part of it, in it: a");
  EXPECT_EQ(ContentsOfShare(manifest, "model-00002-of-00002.safetensors"),
            "; rank 1 of 2 saved 5 tensors, or parts of them, in it: a, b, c and 2 more");
  EXPECT_EQ(ContentsOfShare(manifest, "tokenizer.json"), "");
  EXPECT_EQ(ContentsOfShare(Json("x"), "model-00001-of-00001.safetensors"),
            "; rank 0 of 1 saved 0 tensors, or parts of them, in it: ");
}

}  // namespace
}  // namespace muster
