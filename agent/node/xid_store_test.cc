#include "agent/node/xid_store.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(XidStoreTest, CountsSurviveTheAgent) {
  const XidCounts counts = {{{"GPU-a", 79}, 2}, {{"GPU-a", 13}, 1}, {{"GPU-b", 48}, 1}};
  const auto read = ParseXids(FormatXids(counts));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, counts);
}

TEST(XidStoreTest, AFileOfSomethingElseIsNamed) {
  for (const char* text : {"", "[]", "{\"GPU-a\": 79}", "{\"GPU-a\": {\"x\": 1}}",
                           "{\"GPU-a\": {\"79\": -1}}", "{\"GPU-a\": {\"79\": \"1\"}}"}) {
    EXPECT_EQ(ParseXids(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseXids("{\"GPU-a\": 79}").status().message(),
            "GPU-a: wants counts by GPU and XID, as {\"GPU-5f...\": {\"79\": 1}}");
}

}  // namespace
}  // namespace muster::agent
