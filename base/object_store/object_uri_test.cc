#include "base/object_store/object_uri.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

TEST(ObjectUriTest, BucketAndKeyAreTakenApart) {
  const ObjectUri deep = ParseObjectUri("s3://my-bucket/team a/run").value();
  EXPECT_EQ(deep.bucket, "my-bucket");
  EXPECT_EQ(deep.key, "team a/run");
  EXPECT_EQ(ParseObjectUri("s3://my.bucket")->key, "");
  EXPECT_EQ(ParseObjectUri("s3://my.bucket/")->key, "");
  EXPECT_EQ(ParseObjectUri("s3://bucket/a/")->key, "a");
}

TEST(ObjectUriTest, ADirectoryIsNoObject) {
  EXPECT_FALSE(IsObjectUri("/data"));
  EXPECT_FALSE(IsObjectUri("s3:/data"));
  EXPECT_TRUE(IsObjectUri("s3://"));
}

TEST(ObjectUriTest, EveryWrongUriIsRefusedWithItsReason) {
  const struct {
    std::string uri;
    const char* why;
  } kCases[] = {{"/data", "begin with s3://"},
                {"s3://", "3 to 63"},
                {"s3:///x", "3 to 63"},
                {"s3://ab", "3 to 63"},
                {absl::StrCat("s3://", std::string(64, 'a')), "3 to 63"},
                {"s3://My-bucket/x", "lower-case"},
                {"s3://my_bucket/x", "lower-case"},
                {"s3://-bucket/x", "begin and end"},
                {"s3://bucket./x", "begin and end"},
                {"s3://my..bucket", "two dots"},
                {"s3://10.0.0.1/x", "IP address"},
                {"s3://bucket//x", "no empty part"},
                {"s3://bucket/a/../b", "no empty part"},
                {"s3://bucket/./b", "no empty part"},
                {"s3://bucket/a//", "no empty part"},
                {"s3://bucket/a\nb", "control character"},
                {absl::StrCat("s3://bucket/", std::string(1025, 'a')), "1024 bytes"}};
  for (const auto& wrong : kCases) {
    const auto parsed = ParseObjectUri(wrong.uri);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << wrong.uri;
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), wrong.why)) << parsed.status();
  }
}

}  // namespace
}  // namespace muster
