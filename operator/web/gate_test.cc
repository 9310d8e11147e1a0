#include "operator/web/gate.h"

#include <memory>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/web/http/http_message.h"
#include "operator/web/review_gate.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

HttpRequest Ask(const std::string& path, const std::string& token,
                const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.peer = "10.0.0.7";
  request.host = "127.0.0.1:8080";
  if (!token.empty()) request.authorization = "Bearer " + token;
  return request;
}

TEST(TokenGateTest, OnlyTheTokenOpensIt) {
  const std::string token = NewToken();
  EXPECT_EQ(token.size(), 64u);
  EXPECT_NE(token, NewToken());
  const Gate gate = TokenGate(token);
  EXPECT_TRUE(gate(Ask("/metrics", token)).ok());
  EXPECT_EQ(gate(Ask("/metrics", "")).code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(gate(Ask("/metrics", token.substr(1))).code(), absl::StatusCode::kUnauthenticated);
  HttpRequest basic = Ask("/metrics", token);
  basic.authorization = "Basic " + token;
  EXPECT_EQ(gate(basic).code(), absl::StatusCode::kUnauthenticated);
}

// Tests requests of another site's page, or through a name made to resolve to this machine.
TEST(TokenGateTest, AForgedHostOrOriginDoesNotPassWithTheTokenEither) {
  const Gate gate = TokenGate("t");
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1", "[::1]:8080", "[::1]"}) {
    HttpRequest request = Ask("/metrics", "t");
    request.host = host;
    EXPECT_TRUE(gate(request).ok()) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "",
                           "127.0.0.1.evil.example:80"}) {
    HttpRequest request = Ask("/api/v1/jobs/default/gpt/stop", "t", "POST");
    request.host = host;
    request.origin = absl::StrCat("http://", host);
    EXPECT_EQ(gate(request).code(), absl::StatusCode::kPermissionDenied) << host;
  }
  HttpRequest foreign = Ask("/api/v1/jobs/default/gpt/stop", "t", "POST");
  foreign.origin = "http://evil.example";
  EXPECT_EQ(gate(foreign).code(), absl::StatusCode::kPermissionDenied);
  foreign.origin = "http://" + foreign.host;
  EXPECT_TRUE(gate(foreign).ok());
}

TEST(AccessOfTest, AJobsPagesNeedTheJobAndTheOthersTheirPath) {
  const auto of_path = [](const char* path, const char* verb) -> Json {
    return {{"nonResourceAttributes", {{"path", path}, {"verb", verb}}}};
  };
  EXPECT_EQ(AccessOf(Ask("/metrics", "")), of_path("/metrics", "get"));
  EXPECT_EQ(AccessOf(Ask("/api/v1/whatif", "", "POST")), of_path("/api/v1/whatif", "post"));
  const Json job = *ParseJson(R"({"resourceAttributes": {"group": "muster.dev",
      "resource": "trainingjobs", "namespace": "ns", "name": "gpt", "verb": "get"}})");
  EXPECT_EQ(AccessOf(Ask("/api/v1/jobs/ns/gpt", "", "HEAD")), job);
  EXPECT_EQ(AccessOf(Ask("/api/v1/jobs/ns/gpt/placement", "")), job);
  EXPECT_EQ(AccessOf(Ask("/api/v1/jobs", "")), of_path("/api/v1/jobs", "get"));
}

class ReviewGateTest : public ::testing::Test {
 protected:
  ReviewGateTest() {
    prometheus_ = api_.Issue({.ns = "monitoring", .audience = ""});
    api_.Allow("system:serviceaccount:monitoring:default", AccessOf(Ask("/metrics", "")));
  }
  absl::StatusCode Code(const HttpRequest& request) { return gate_.Admit(request).code(); }

  ManualClock clock_;
  std::mt19937_64 random_{1};
  std::unique_ptr<kube::MemoryApi> memory_ =
      *kube::MemoryApi::Open(clock_, {.random = [this] { return random_(); }});
  FakeTokenApi api_{*memory_, clock_};
  ReviewGate gate_{api_, clock_};
  std::string prometheus_;
};

TEST_F(ReviewGateTest, OnlyACallerWithTheRightPasses) {
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
  const absl::Status denied = gate_.Admit(Ask("/debug/state", prometheus_));
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(denied.message()),
              HasSubstr("system:serviceaccount:monitoring:default has no right to "));
  EXPECT_EQ(Code(Ask("/metrics", "")), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Code(Ask("/metrics", "made-up")), absl::StatusCode::kUnauthenticated);
}

TEST_F(ReviewGateTest, AWorkersTokenIsOfNoUseHere) {
  const std::string worker = api_.Issue({"default", "gpt-0-1", "uid"});
  EXPECT_EQ(Code(Ask("/metrics", worker)), absl::StatusCode::kUnauthenticated);
}

TEST_F(ReviewGateTest, AYesIsRememberedForAMinuteAndANoForLess) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
  EXPECT_EQ(api_.reviews(), 2) << "whose token, and whether they may";
  api_.Revoke(prometheus_);
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kUnauthenticated);
  const int asked = api_.reviews();
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(api_.reviews(), asked);
  clock_.Advance(ReviewGate::kNo);
  Code(Ask("/metrics", prometheus_));
  EXPECT_EQ(api_.reviews(), asked + 1);
}

TEST_F(ReviewGateTest, WithoutAnAnswerNobodyPassesAndNothingIsRemembered) {
  api_.FailReviews(absl::UnavailableError("no connection"));
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kUnavailable);
  api_.FailReviews(absl::OkStatus());
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
}

TEST_F(ReviewGateTest, UnknownCallersHaveAQuotaAndKnownOnesDoNot) {
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const absl::StatusCode code = Code(Ask("/metrics", absl::StrCat("guess-", i)));
    EXPECT_NE(code, absl::StatusCode::kOk);
    refused += code == absl::StatusCode::kResourceExhausted ? 1 : 0;
  }
  EXPECT_GE(refused, 150);
  EXPECT_LE(api_.reviews(), 52);
  EXPECT_EQ(Code(Ask("/metrics", prometheus_)), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace muster::control
