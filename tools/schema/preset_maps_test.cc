#include "tools/schema/preset_maps.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace muster::schema {
namespace {

TEST(ExpandPresetMaps, PutsTheTableInPlaceOfItsName) {
  const std::string width = ExpandPresetMaps("$presets.width[self.preset] > 0");
  EXPECT_TRUE(absl::StartsWith(width, "{'gpt2-nano': 64, 'gpt2-micro': 128, ")) << width;
  EXPECT_TRUE(absl::StrContains(width, "'llama-3-405b': 16384")) << width;
  EXPECT_TRUE(absl::EndsWith(width, "'bloom-176b': 14336}[self.preset] > 0")) << width;
}

TEST(ExpandPresetMaps, HeadsWithKeysOfTheirOwnGoWithAnyNumberOfHeads) {
  const std::string shared = ExpandPresetMaps("$presets.keyValueHeads");
  EXPECT_TRUE(absl::StrContains(shared, "'llama-7b': 1,")) << shared;
  EXPECT_TRUE(absl::StrContains(shared, "'llama-2-70b': 8,")) << shared;
}

TEST(ExpandPresetMaps, OtherTextStaysAsItIs) {
  EXPECT_EQ(ExpandPresetMaps("self.name.matches('^a$')"), "self.name.matches('^a$')");
  EXPECT_FALSE(absl::StrContains(ExpandPresetMaps("$presets.family[self.preset]"), "$"));
}

}  // namespace
}  // namespace muster::schema
