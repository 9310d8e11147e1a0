#include "base/object_store/s3_answers.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

const absl::Time kHere = absl::FromUnixSeconds(1'700'000'000);

HttpAnswer Answer(int status, const std::string& code, const std::string& more = "") {
  HttpAnswer answer{.status = status, .headers = {{"content-type", "application/xml"}}};
  answer.body =
      absl::StrCat("<Error><Code>", code, "</Code><Message>why</Message>", more, "</Error>");
  return answer;
}

TEST(JudgeAnswerTest, EachErrorSaysWhatIsToBeChanged) {
  const struct {
    HttpAnswer answer;
    absl::StatusCode code;
    const char* text;
  } kCases[] = {
      {Answer(404, "NoSuchBucket"), absl::StatusCode::kFailedPrecondition, "create it"},
      {Answer(404, "NoSuchKey"), absl::StatusCode::kNotFound, "does not exist"},
      {Answer(404, "SomethingElse"), absl::StatusCode::kFailedPrecondition, "SomethingElse: why"},
      {Answer(403, "AccessDenied"), absl::StatusCode::kPermissionDenied, "access denied"},
      {Answer(403, "InvalidAccessKeyId"), absl::StatusCode::kPermissionDenied,
       "no such access key"},
      {Answer(400, "ExpiredToken"), absl::StatusCode::kPermissionDenied, "session token"},
      {Answer(403, "RequestTimeTooSkewed"), absl::StatusCode::kFailedPrecondition, "clock"},
      {Answer(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
       absl::StatusCode::kFailedPrecondition, "set checkpoint.s3.region to it"},
      {Answer(301, "PermanentRedirect"), absl::StatusCode::kFailedPrecondition, "another region"},
      {Answer(412, "PreconditionFailed"), absl::StatusCode::kAlreadyExists, "exists"},
      {Answer(501, "NotImplemented"), absl::StatusCode::kUnimplemented, "cannot do this"},
      {Answer(507, "XMinioStorageFull"), absl::StatusCode::kResourceExhausted, "full"}};
  for (const auto& wrong : kCases) {
    const S3Verdict verdict = JudgeAnswer(wrong.answer, kHere);
    EXPECT_EQ(verdict.status.code(), wrong.code) << verdict.status;
    EXPECT_TRUE(absl::StrContains(verdict.status.message(), wrong.text)) << verdict.status;
    EXPECT_FALSE(verdict.retry) << verdict.status;
  }
}

TEST(JudgeAnswerTest, WhatMayPassIsSentAgain) {
  for (const HttpAnswer& answer :
       {Answer(503, "SlowDown"), Answer(500, "InternalError"), Answer(429, ""),
        Answer(400, "RequestTimeout"), Answer(400, "XAmzContentSHA256Mismatch"),
        Answer(409, "ConditionalRequestConflict"), HttpAnswer{.status = 502, .body = "<html>"},
        // AWS sends errors of a long copy or completion so.
        Answer(200, "InternalError")}) {
    const S3Verdict verdict = JudgeAnswer(answer, kHere);
    EXPECT_TRUE(verdict.retry) << verdict.status;
    EXPECT_EQ(verdict.status.code(), absl::StatusCode::kUnavailable);
  }
}

TEST(JudgeAnswerTest, AnObjectThatLooksLikeAnErrorIsNone) {
  HttpAnswer answer = Answer(206, "InternalError");
  answer.headers["content-type"] = "application/octet-stream";
  EXPECT_TRUE(JudgeAnswer(answer, kHere).status.ok());
}

TEST(JudgeAnswerTest, TheStoresWordsAreShortAndPlain) {
  const S3Verdict verdict =
      JudgeAnswer(Answer(403, absl::StrCat("A\x1b[31m", std::string(5000, 'x'))), kHere);
  EXPECT_LT(verdict.status.message().size(), 1000u);
  EXPECT_FALSE(absl::StrContains(verdict.status.message(), "\x1b"));
}

TEST(ParsePagesTest, PagesAreReadAndWrongOnesRefused) {
  const ObjectPage page = ParseObjectPage(R"(<ListBucketResult><IsTruncated>true</IsTruncated>
      <NextContinuationToken>t</NextContinuationToken><Contents><Key>a</Key><Size>7</Size></Contents>
      <CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes></ListBucketResult>)")
                              .value();
  EXPECT_EQ(page.next, "t");
  ASSERT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(page.objects[0].size, 7u);
  EXPECT_EQ(page.prefixes, std::vector<std::string>{"b/"});
  for (const char* wrong :
       {"", "<Error/>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>"}) {
    EXPECT_EQ(ParseObjectPage(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_FALSE(ParseUploadId("<InitiateMultipartUploadResult/>").ok());
  EXPECT_FALSE(ParseUploadPage("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                               "</ListMultipartUploadsResult>")
                   .ok());
  EXPECT_FALSE(CheckCompleted("<Error><Code>InternalError</Code></Error>").ok());
}

TEST(FormatPartsTest, TagsAreQuotedAndNothingElseGetsIn) {
  EXPECT_EQ(FormatParts({"\"a-1\"", "b<x/>"}),
            "<CompleteMultipartUpload><Part><ETag>&quot;a-1&quot;</ETag><PartNumber>1</PartNumber>"
            "</Part><Part><ETag>bx</ETag><PartNumber>2</PartNumber></Part>"
            "</CompleteMultipartUpload>");
}

}  // namespace
}  // namespace muster
