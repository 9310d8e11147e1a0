#include "base/object_store/place.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

constexpr PlaceKind kBoth[] = {PlaceKind::kPath, PlaceKind::kPathOrObjects};

// Regression: the text was a path, and the files were in a folder named `gs:`.
TEST(PlaceTest, AUriOfAnotherSchemeIsNoFolder) {
  for (const char* text : {"gs://bucket/run", "hdfs://host/run",  "hdfs:/run",
                           "S3://bucket/run", "s3a://bucket/run", "s3:/bucket",
                           "hf://org/data",   "https://host/x",   "dbfs:/mnt/x",
                           "file://run",      "file:/run",        "FILE:///run",
                           "file://host/run", "file:///a%20b",    "~",
                           "~/run",           "~user/run",        "$HOME/run",
                           "${HOME}/run",     "/data/$USER/run",  "$(DIR)/run",
                           " gs://bucket",    "runs/gs://bucket"}) {
    for (const PlaceKind kind : kBoth) EXPECT_TRUE(WhyNoPlace(text, kind).has_value()) << text;
  }
}

TEST(PlaceTest, APathIsAPlace) {
  for (const char* text : {"/data/run", "run", "./~", "a~b", "run:1/x", "a:b", "/data/x$", "5$/x",
                           "/a b/%20", "file:///data/run", "../x", "/"}) {
    for (const PlaceKind kind : kBoth) {
      EXPECT_EQ(WhyNoPlace(text, kind).value_or(""), "") << text;
    }
  }
}

TEST(PlaceTest, ObjectsAreAPlaceOfSomeKindsAlone) {
  EXPECT_EQ(WhyNoPlace("s3://bucket/run", PlaceKind::kPathOrObjects), std::nullopt);
  EXPECT_EQ(WhyNoPlace("s3://bucket/run", PlaceKind::kPath),
            "objects of a store are read as checkpoints alone; want a path or file:///PATH, for "
            "example on a volume of the template");
}

TEST(PlaceTest, SaysWhatWouldBeRight) {
  EXPECT_EQ(WhyNoPlace("gs://bucket/run", PlaceKind::kPathOrObjects),
            "the scheme gs:// is not known here; want a path, file:///PATH or s3://BUCKET/PREFIX");
  EXPECT_EQ(WhyNoPlace("S3://bucket", PlaceKind::kPathOrObjects),
            "s3:// is written in small letters");
  EXPECT_EQ(WhyNoPlace("file://run", PlaceKind::kPath),
            "want file:/// in small letters, with three slashes and then the path");
  EXPECT_EQ(WhyNoPlace("~/run", PlaceKind::kPath),
            "~ is not expanded here; want the whole path, or ./~ for a folder of that name");
  EXPECT_EQ(WhyNoPlace("$HOME/run", PlaceKind::kPath),
            "variables are not expanded here; want the value in place of $");
}

TEST(PlaceTest, AFileUriMeansThePath) {
  EXPECT_EQ(WithoutFileScheme("file:///data/run"), "/data/run");
  EXPECT_EQ(WithoutFileScheme("s3://bucket/run"), "s3://bucket/run");
  EXPECT_EQ(WithoutFileScheme("file://run"), "file://run");
}

}  // namespace
}  // namespace muster
