#include "base/object_store/credentials_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/environment.h"
#include "base/object_store/aws_signature.h"

namespace muster {
namespace {

// Everything that EKS and a user could set at the same time.
Environment All() {
  return {{"AWS_ACCESS_KEY_ID", "id"},
          {"AWS_SECRET_ACCESS_KEY", "secret"},
          {"AWS_SESSION_TOKEN", "token"},
          {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
          {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
          {"AWS_SHARED_CREDENTIALS_FILE", "/keys"},
          {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
          {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/agent-token"}};
}

template <typename T>
T Chosen(const Environment& environment, const std::string& region = "") {
  const auto choice = ChooseCredentials(environment, region);
  EXPECT_TRUE(choice.ok()) << choice.status();
  if (!choice.ok() || !std::holds_alternative<T>(*choice)) {
    ADD_FAILURE() << "another source was chosen";
    return T();
  }
  return std::get<T>(*choice);
}

std::string Error(const Environment& environment) {
  const absl::Status status = ChooseCredentials(environment, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(ChooseCredentialsTest, SourcesAreTriedInTheOrderOfAWSsSdks) {
  Environment environment = All();
  const auto keys = Chosen<S3Credentials>(environment);
  EXPECT_EQ(keys.key_id + keys.secret + keys.session_token, "idsecrettoken");
  environment.erase("AWS_ACCESS_KEY_ID");
  environment.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(Chosen<WebIdentity>(environment).token_file, "/token");
  environment.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  EXPECT_EQ(Chosen<CredentialsFile>(environment).path, "/keys");
  EXPECT_EQ(Chosen<CredentialsFile>(environment).profile, "default");
  environment.erase("AWS_SHARED_CREDENTIALS_FILE");
  EXPECT_EQ(Chosen<ContainerAgent>(environment).url, "http://169.254.170.23/v1/credentials");
  EXPECT_EQ(Chosen<ContainerAgent>(environment).token_file, "/agent-token");
  environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/x";
  EXPECT_EQ(Chosen<ContainerAgent>(environment).url, "http://169.254.170.2/v2/x");
}

TEST(ChooseCredentialsTest, WithoutASourceTheErrorNamesEachThatWasLookedFor) {
  const std::string error = Error({{"AWS_ROLE_ARN", "arn"}});
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "checkpoint.s3.credentialsSecret"}) {
    EXPECT_TRUE(absl::StrContains(error, name)) << error;
  }
}

TEST(ChooseCredentialsTest, HalfASourceIsNotPassedOver) {
  Environment environment = All();
  environment.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(Error(environment),
            "the environment variable AWS_SECRET_ACCESS_KEY is missing: AWS_ACCESS_KEY_ID is "
            "nothing without it");
  EXPECT_TRUE(
      absl::StrContains(Error({{"AWS_SECRET_ACCESS_KEY", "x"}}), "AWS_ACCESS_KEY_ID is missing"));
  EXPECT_TRUE(
      absl::StrContains(Error({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}}), "AWS_ROLE_ARN is missing"));
}

TEST(ChooseCredentialsTest, StsIsAskedInTheRegionOrWhereTheEnvironmentSays) {
  Environment environment = {{"AWS_ROLE_ARN", "arn"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"}};
  const auto endpoint = [&environment](const char* region) {
    return Chosen<WebIdentity>(environment, region).endpoint;
  };
  EXPECT_EQ(endpoint(""), "https://sts.us-east-1.amazonaws.com");
  EXPECT_EQ(endpoint("eu-west-1"), "https://sts.eu-west-1.amazonaws.com");
  environment["AWS_REGION"] = "cn-north-1";
  EXPECT_EQ(endpoint("eu-west-1"), "https://sts.cn-north-1.amazonaws.com.cn");
  environment["AWS_ENDPOINT_URL_STS"] = "https://minio.storage:9000/";
  EXPECT_EQ(endpoint("eu-west-1"), "https://minio.storage:9000");
}

TEST(ChooseCredentialsTest, ATokenIsSentInTheClearToTheAgentsAddressesAlone) {
  for (const char* good :
       {"https://any.where/x", "http://127.0.0.1:8080/x", "http://localhost/x",
        "http://[fd00:ec2::23]/x", "http://[::1]:80/x", "http://169.254.170.2"}) {
    EXPECT_EQ(Chosen<ContainerAgent>({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", good}}).url, good);
  }
  for (const char* bad :
       {"http://example.com/x", "http://127.0.0.1@example.com/x", "http://", "http://[::1",
        "http://169.254.170.23.example.com/", "ftp://localhost/x", "localhost"}) {
    EXPECT_TRUE(absl::StrContains(Error({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", bad}}),
                                  "because a token is sent to it"))
        << bad;
  }
}

}  // namespace
}  // namespace muster
