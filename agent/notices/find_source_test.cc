#include "agent/notices/find_source.h"

#include <string>

#include "agent/notices/fake_metadata.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

std::string FoundAt(const FakeMetadata& server) {
  const auto found = FindNoticeSource(kNoticesAuto, server.base());
  return found.ok() ? (*found)->cloud() : std::string(found.status().message());
}

TEST(FindNoticeSourceTest, AutoFindsTheCloudWhoseServiceAnswers) {
  EXPECT_EQ(FoundAt(FakeAws()), "AWS");
  EXPECT_EQ(FoundAt(FakeGoogle()), "Google");
  EXPECT_EQ(FoundAt(FakeAzure("vm")), "Azure");
}

TEST(FindNoticeSourceTest, AServerThatIsNoMetadataServiceIsNone) {
  FakeAws other;
  other.Break(404, "");
  EXPECT_THAT(FoundAt(other), testing::StartsWith("no cloud's metadata service answers: google: "));
}

TEST(FindNoticeSourceTest, ACloudThatIsNamedIsNotProbed) {
  const auto found = FindNoticeSource("azure", "http://127.0.0.1:1");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_STREQ((*found)->cloud(), "Azure");
  EXPECT_EQ(FindNoticeSource("gcp", "").status().message(), "gcp: want aws, google or azure");
}

}  // namespace
}  // namespace muster::agent
