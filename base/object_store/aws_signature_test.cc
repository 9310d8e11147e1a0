#include "base/object_store/aws_signature.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/percent_encoding.h"

namespace muster {
namespace {

// The examples of "Signature Calculations for the Authorization Header: Transferring Payload in a
// Single Chunk (AWS Signature Version 4)" in the Amazon S3 API Reference.
class AwsSignatureTest : public testing::Test {
 protected:
  RequestToSign Request(const std::string& method, const std::string& path,
                        const std::string& body = "") const {
    RequestToSign request{.method = method, .path = path, .body_sha256 = Sha256Hex(body)};
    request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                       {"x-amz-content-sha256", request.body_sha256},
                       {"x-amz-date", AmzDate(time_)}};
    return request;
  }
  std::string SignatureOf(const RequestToSign& request) const {
    const std::string header = AuthorizationHeader(request, credentials_, "us-east-1", time_);
    return header.substr(header.find("Signature=") + 10);
  }

  const absl::Time time_ = absl::FromCivil(absl::CivilSecond(2013, 5, 24), absl::UTCTimeZone());
  const S3Credentials credentials_ = {"AKIAIOSFODNN7EXAMPLE",
                                      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
};

TEST_F(AwsSignatureTest, ARangedReadOfAnObjectIsSignedAsPublished) {
  RequestToSign request = Request("GET", "/test.txt");
  request.headers["range"] = "bytes=0-9";
  EXPECT_EQ(AuthorizationHeader(request, credentials_, "us-east-1", time_),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature="
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(AwsSignatureTest, APutWithABodyAndAnEscapedNameIsSignedAsPublished) {
  RequestToSign request =
      Request("PUT", PercentEncode("/test$file.text", "/"), "Welcome to Amazon S3.");
  request.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  request.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_EQ(SignatureOf(request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(AwsSignatureTest, AQueryWithoutAValueIsSignedAsPublished) {
  RequestToSign request = Request("GET", "/");
  request.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(request),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(AwsSignatureTest, AListIsSignedAsPublished) {
  RequestToSign request = Request("GET", "/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(SignatureOf(request),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_F(AwsSignatureTest, TheSecretIsNotInTheHeader) {
  const std::string header =
      AuthorizationHeader(Request("GET", "/"), credentials_, "us-east-1", time_);
  EXPECT_FALSE(absl::StrContains(header, credentials_.secret)) << header;
}

}  // namespace
}  // namespace muster
