// The sources of keys against a real HTTP server that answers as STS or as an agent on the node.
#include "base/object_store/credentials_source.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/object_store/credentials.h"
#include "base/object_store/credentials_choice.h"
#include "base/object_store/curl_transport.h"

namespace muster {
namespace {

constexpr char kRole[] = "arn:aws:iam::1:role/team/r+1";

// Takes the token that it was told last, and answers with keys that name it.
class KeyServer {
 public:
  KeyServer() {
    server_.Post("/", [this](const httplib::Request& request, httplib::Response& response) {
      const bool asks = request.get_param_value("Action") == "AssumeRoleWithWebIdentity" &&
                        request.get_param_value("Version") == "2011-06-15" &&
                        request.get_param_value("RoleArn") == kRole &&
                        request.has_param("RoleSessionName");
      if (!asks || request.get_param_value("WebIdentityToken") != Token()) {
        response.status = 400;
        response.set_content(
            "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>the token is not "
            "valid</Message></Error></ErrorResponse>",
            "text/xml");
        return;
      }
      response.set_content(
          absl::StrCat("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
                       "<Credentials><AccessKeyId>of-",
                       Token(),
                       "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t"
                       "</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>"
                       "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"),
          "text/xml");
    });
    server_.Get(
        "/v1/credentials", [this](const httplib::Request& request, httplib::Response& response) {
          if (request.get_header_value("Authorization") != Token()) {
            response.status = 401;
            response.set_content("the token is not valid", "text/plain");
            return;
          }
          response.set_content(
              absl::StrCat(R"({"AccessKeyId": "of-)", Token(), R"(", "SecretAccessKey": "s",)",
                           R"("Token": "t", "Expiration": "2030-01-01T00:00:00Z"})"),
              "application/json");
        });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~KeyServer() {
    while (!server_.is_running()) std::this_thread::yield();  // stop() has no effect before
    server_.stop();
    thread_.join();
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  void Take(const std::string& token) {
    MutexLock lock(mu_);
    token_ = token;
  }

 private:
  std::string Token() {
    MutexLock lock(mu_);
    return token_;
  }

  httplib::Server server_;
  int port_ = 0;
  Mutex mu_;
  std::string token_ MUSTER_GUARDED_BY(mu_);
  std::thread thread_;
};

class CredentialsSourceTest : public testing::Test {
 protected:
  std::unique_ptr<CredentialsSource> Source(const CredentialsChoice& choice) {
    return MakeCredentialsSource(choice, std::make_unique<CurlTransport>(CurlOptions()),
                                 FileSystem());
  }
  void Mount(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), path_, text).ok());
  }
  // Expects keys of the token that is mounted now.
  void ExpectKeysOfEachToken(CredentialsSource& source) {
    for (const char* token : {"first", "second"}) {
      Mount(absl::StrCat(token, "\n"));
      server_.Take(token);
      const auto fetched = source.Fetch();
      ASSERT_TRUE(fetched.ok()) << fetched.status();
      EXPECT_EQ(fetched->keys.key_id, absl::StrCat("of-", token));
      EXPECT_EQ(fetched->keys.session_token, "t");
      EXPECT_LT(fetched->expires, absl::InfiniteFuture());
    }
  }

  KeyServer server_;
  const std::string path_ = testing::TempDir() + "/mounted";
};

TEST_F(CredentialsSourceTest, StsIsAskedWithTheTokenThatIsMountedNow) {
  const auto source =
      Source(WebIdentity{.role = kRole, .token_file = path_, .endpoint = server_.url()});
  ExpectKeysOfEachToken(*source);
  server_.Take("third");
  const absl::Status refused = source->Fetch().status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "400 InvalidIdentityToken")) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), kRole)) << refused;
  EXPECT_FALSE(absl::StrContains(refused.message(), "second")) << refused;
}

TEST_F(CredentialsSourceTest, AnAgentIsAskedWithTheTokenThatIsMountedNow) {
  const auto source = Source(
      ContainerAgent{.url = absl::StrCat(server_.url(), "/v1/credentials"), .token_file = path_});
  ExpectKeysOfEachToken(*source);
  server_.Take("third");
  EXPECT_TRUE(absl::IsPermissionDenied(source->Fetch().status()));
}

TEST_F(CredentialsSourceTest, AServerThatIsAwayMayComeBack) {
  Mount("token");
  const auto source =
      Source(WebIdentity{.role = kRole, .token_file = path_, .endpoint = "http://127.0.0.1:1"});
  EXPECT_TRUE(absl::IsUnavailable(source->Fetch().status()));
}

TEST_F(CredentialsSourceTest, AFileThatIsMissingIsNamedAndIsNoMissingObject) {
  const CredentialsChoice choices[] = {
      WebIdentity{.role = kRole, .token_file = "/nowhere", .endpoint = server_.url()},
      CredentialsFile{"/nowhere", "default"}};
  for (const CredentialsChoice& choice : choices) {
    const absl::Status missing = Source(choice)->Fetch().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
    EXPECT_TRUE(absl::StrContains(missing.message(), "/nowhere")) << missing;
  }
}

TEST_F(CredentialsSourceTest, AFileOfKeysIsReadAnew) {
  const auto source = Source(CredentialsFile{path_, "default"});
  for (const char* id : {"one", "two"}) {
    Mount(absl::StrCat("[default]\naws_access_key_id=", id, "\naws_secret_access_key=s\n"));
    EXPECT_EQ(source->Fetch().value().keys.key_id, id);
  }
}

}  // namespace
}  // namespace muster
