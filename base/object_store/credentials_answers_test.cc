#include "base/object_store/credentials_answers.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/object_store/http_transport.h"

namespace muster {
namespace {

std::string StsDocument(const std::string& credentials) {
  return absl::StrCat(
      "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
      "<AssumeRoleWithWebIdentityResult><Audience>sts</Audience><Credentials>",
      credentials, "</Credentials></AssumeRoleWithWebIdentityResult>",
      "</AssumeRoleWithWebIdentityResponse>");
}

std::string KeysOf(const S3Credentials& keys) {
  return absl::StrCat(keys.key_id, " ", keys.secret, " ", keys.session_token);
}

TEST(CredentialsAnswersTest, StsGivesKeysUntilATime) {
  const auto read = ReadStsAnswer(
      {200,
       {},
       StsDocument("<SessionToken>T/+=</SessionToken><SecretAccessKey>S</SecretAccessKey>"
                   "<Expiration>2026-03-01T10:00:00Z</Expiration><AccessKeyId>K</AccessKeyId>")});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(KeysOf(read->keys), "K S T/+=");
  EXPECT_EQ(absl::FormatTime(read->expires, absl::UTCTimeZone()), "2026-03-01T10:00:00+00:00");
}

TEST(CredentialsAnswersTest, StsSaysWhyItRefuses) {
  const auto refused = [](int status, const char* code) {
    return ReadStsAnswer(
               {status,
                {},
                absl::StrCat("<ErrorResponse><Error><Type>Sender</Type><Code>", code,
                             "</Code><Message>no\nway</Message></Error></ErrorResponse>")})
        .status();
  };
  EXPECT_EQ(refused(403, "AccessDenied"),
            absl::PermissionDeniedError("it answered 403 AccessDenied: no?way"));
  EXPECT_TRUE(absl::IsUnavailable(refused(400, "IDPCommunicationError")));
  EXPECT_TRUE(absl::IsUnavailable(refused(400, "Throttling")));
  EXPECT_TRUE(absl::IsUnavailable(refused(503, "ServiceUnavailable")));
  EXPECT_EQ(ReadStsAnswer({502, {}, "<html>"}).status(), absl::UnavailableError("it answered 502"));
}

TEST(CredentialsAnswersTest, AnAgentGivesKeys) {
  const auto read = ReadAgentAnswer({200, {}, R"({"AccessKeyId": "K", "SecretAccessKey": "S",
      "Token": "T", "Expiration": "2026-03-01T10:00:00Z", "AccountId": "1"})"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(KeysOf(read->keys), "K S T");
  EXPECT_LT(read->expires, absl::InfiniteFuture());
  EXPECT_EQ(ReadAgentAnswer({404, {}, R"({"code": "NoRole", "message": "of this pod"})"}).status(),
            absl::PermissionDeniedError("it answered 404 NoRole: of this pod"));
  EXPECT_EQ(ReadAgentAnswer({403, {}, "forbidden"}).status(),
            absl::PermissionDeniedError("it answered 403: forbidden"));
}

TEST(CredentialsAnswersTest, WhatCannotBeAKeyIsRefusedWithoutBeingQuoted) {
  const auto bad = [](const std::string& body) {
    return ReadAgentAnswer({200, {}, body}).status();
  };
  EXPECT_EQ(bad("{\"AccessKeyId\": \"K\", \"SecretAccessKey\": hush}"),
            absl::InvalidArgumentError("it answered something else than JSON"));
  EXPECT_EQ(bad(R"({"AccessKeyId": "K"})"),
            absl::InvalidArgumentError("there is no secret key in it"));
  EXPECT_EQ(bad(R"({"AccessKeyId": "K\r\nx: y", "SecretAccessKey": "hush"})"),
            absl::InvalidArgumentError("it has keys with characters that no key has"));
  EXPECT_EQ(bad(R"({"AccessKeyId": "K", "SecretAccessKey": "hush", "Expiration": "soon"})"),
            absl::InvalidArgumentError("it says that they end at \"soon\", which is no time"));
  EXPECT_EQ(ReadStsAnswer({200, {}, "<A><B/></A>"}).status(),
            absl::InvalidArgumentError("it answered without credentials"));
}

TEST(CredentialsAnswersTest, AFileHasSections) {
  const char kText[] =
      "# keys\n[other]\naws_access_key_id=O\n\n[ team ]\nregion = x\r\n"
      "aws_access_key_id = K\nAWS_SECRET_ACCESS_KEY=S=/\naws_session_token = T\n[last]\n";
  const auto read = ReadCredentialsFile(kText, "team");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(KeysOf(*read), "K S=/ T");
  EXPECT_EQ(ReadCredentialsFile(kText, "default").status(),
            absl::NotFoundError("there is no section [default] in it"));
  EXPECT_EQ(ReadCredentialsFile(kText, "other").status(),
            absl::InvalidArgumentError("there is no secret key in it"));
}

TEST(CredentialsAnswersTest, ATokenIsOneLine) {
  EXPECT_EQ(ReadToken(" a.b-c_d=\n").value(), "a.b-c_d=");
  EXPECT_EQ(ReadToken("\n").status(), absl::InvalidArgumentError("it is empty"));
  EXPECT_FALSE(ReadToken("a\r\nhost: b").ok());
}

}  // namespace
}  // namespace muster
