#include <string>

#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/name_rules.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// Tests of the vocabulary: names, metadata, errors.
namespace muster::kube {
namespace {

TEST(NameRulesTest, Labels) {
  EXPECT_TRUE(IsDnsLabel("a-1"));
  EXPECT_TRUE(IsDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
  EXPECT_FALSE(IsDnsLabel("a.b"));
  EXPECT_FALSE(IsDnsLabel(""));
  EXPECT_TRUE(IsDnsSubdomain("a.b-c.d"));
  EXPECT_FALSE(IsDnsSubdomain("a..b"));
  EXPECT_FALSE(IsDnsSubdomain("a."));
  EXPECT_FALSE(IsDnsSubdomain("A"));
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
}

TEST(NameRulesTest, QualifiedNamesAndValues) {
  EXPECT_TRUE(IsQualifiedName("muster.dev/job"));
  EXPECT_TRUE(IsQualifiedName("Job_1.x"));
  EXPECT_FALSE(IsQualifiedName("a/b/c"));
  EXPECT_FALSE(IsQualifiedName("/b"));
  EXPECT_FALSE(IsQualifiedName("Upper.dev/job"));
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("A_1.b-c"));
  EXPECT_FALSE(IsLabelValue("-a"));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
}

TEST(ObjectMetaTest, ReadersNeverThrowOnOtherTypes) {
  for (const Json& object :
       {Json(), Json(5), Json::array(), Json{{"metadata", 3}}, Json{{"metadata", {{"name", 4}}}},
        Json{
            {"metadata", {{"labels", {1}}, {"finalizers", "x"}, {"ownerReferences", {1, "x"}}}}}}) {
    EXPECT_EQ(NameOf(object), "");
    EXPECT_EQ(KeyOf(object), ObjectKey());
    EXPECT_TRUE(LabelsOf(object).empty());
    EXPECT_TRUE(FinalizersOf(object).empty());
    EXPECT_FALSE(ControllerOf(object).has_value());
    EXPECT_FALSE(DeletionTimeOf(object).has_value());
    EXPECT_EQ(GenerationOf(object), 0);
  }
}

TEST(ObjectMetaTest, TimesRoundTrip) {
  const absl::Time time = absl::FromUnixMicros(1'700'000'000'123'456);
  EXPECT_EQ(kube::FormatTime(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(kube::FormatMicroTime(time), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(kube::ParseTime(kube::FormatMicroTime(time)), time);
  EXPECT_FALSE(kube::ParseTime("yesterday").has_value());
}

TEST(ObjectMetaTest, ResourceVersionsAreNumbers) {
  EXPECT_EQ(*ParseResourceVersion(""), 0u);
  EXPECT_EQ(*ParseResourceVersion("18446744073709551615"), 18446744073709551615u);
  EXPECT_FALSE(ParseResourceVersion("-1").ok());
  EXPECT_FALSE(ParseResourceVersion("x").ok());
}

TEST(ObjectMetaTest, ApiVersions) {
  EXPECT_EQ(kPods.ApiVersion(), "v1");
  EXPECT_EQ(kLeases.ApiVersion(), "coordination.k8s.io/v1");
}

TEST(ApiErrorTest, EveryReasonSurvivesItsStatus) {
  for (int i = 1; i <= static_cast<int>(Reason::kWatchClosed); ++i) {
    const Reason reason = static_cast<Reason>(i);
    const absl::Status status = ApiError(reason, "what");
    EXPECT_EQ(ReasonOf(status), reason);
    EXPECT_NE(status.code(), absl::StatusCode::kUnknown) << i;
    const absl::Status annotated = Annotate(status, "where");
    EXPECT_EQ(ReasonOf(annotated), reason);
    EXPECT_EQ(annotated.message(), "where: what");
  }
}

TEST(ApiErrorTest, WordsBeforeCodes) {
  EXPECT_EQ(ReasonFromKubernetes("AlreadyExists", 409), Reason::kAlreadyExists);
  EXPECT_EQ(ReasonFromKubernetes("", 409), Reason::kConflict);
  EXPECT_EQ(ReasonFromKubernetes("Gone", 410), Reason::kExpired);
  EXPECT_EQ(ReasonFromKubernetes("", 502), Reason::kInternalError);
  EXPECT_EQ(ReasonFromKubernetes("Odd", 418), Reason::kUnknown);
}

TEST(ApiErrorTest, RetryAfter) {
  const absl::Status status = TooManyRequests("busy", absl::Seconds(3));
  EXPECT_EQ(RetryAfterOf(Annotate(status, "x")), absl::Seconds(3));
  EXPECT_TRUE(IsRetriable(status));
  EXPECT_FALSE(IsRetriable(ApiError(Reason::kConflict, "x")));
  EXPECT_FALSE(RetryAfterOf(absl::OkStatus()).has_value());
}

}  // namespace
}  // namespace muster::kube
