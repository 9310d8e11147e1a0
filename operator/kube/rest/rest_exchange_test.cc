#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/http/gzip_text.h"
#include "operator/kube/http/test_proxy.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api_fixture.h"

// Tests of the options that RestApi and a server agree on for one exchange, and of proxies between
// them.
namespace muster::kube {
namespace {

TEST_F(RestApiTest, WhatIsCreatedMayHaveNoFieldThatTheServerWouldDrop) {
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    return peer.Answer(400, StatusBody(400, "BadRequest", "strict decoding error: unknown field"));
  });
  const absl::Status status = api_->Create(kPods, NewObject(kPods, kKey)).status();
  EXPECT_TRUE(
      absl::StartsWith(seen, "POST /api/v1/namespaces/ns/pods?fieldValidation=Strict&timeout="))
      << seen;
  EXPECT_EQ(ReasonOf(status), Reason::kBadRequest);
  EXPECT_EQ(status.message(), "strict decoding error: unknown field");
}

// Bodies are protobuf unless the server rejects that.
TEST_F(RestApiTest, AServerThatTakesNoProtobufGetsJsonOfThatTypeFromThenOn) {
  std::atomic<int> refused{0};
  Start([&](const std::string& request, Peer& peer) {
    if (absl::StrContains(request, "Content-Type: application/json\r\n")) {
      EXPECT_TRUE(absl::EndsWith(request, DumpJson(NewObject(kPods, kKey)))) << request;
      return peer.Answer(201, kPod);
    }
    ++refused;
    return peer.Answer(415, StatusBody(415, "UnsupportedMediaType", "no protobuf here"));
  });
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = api_->Create(kPods, NewObject(kPods, kKey)).status();
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(requests_.lines(), (std::vector<std::string>{"create pods 415", "create pods 201",
                                                         "create pods 201", "create pods 201"}));
}

TEST_F(RestApiTest, AServerThatTakesNoJsonEitherIsAskedOnlyTwice) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(415, StatusBody(415, "UnsupportedMediaType", "nothing suits me"));
  });
  EXPECT_EQ(api_->Create(kPods, NewObject(kPods, kKey)).status().message(), "nothing suits me");
  EXPECT_EQ(requests_.lines().size(), 2u);
}

TEST_F(RestApiTest, AWarningOfTheServerIsLoggedOnce) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(200, kPod, "Warning: 299 - \"v1 Pod is deprecated\"\r\n");
  });
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetStatus().ok());
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t first = log.find("v1 Pod is deprecated");
  ASSERT_NE(first, log.npos) << log;
  EXPECT_EQ(log.find("v1 Pod is deprecated", first + 1), log.npos) << log;
}

TEST_F(RestApiTest, AnAnswerMayComeAsGzip) {
  config_.gzip = true;
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    return peer.Answer(200, Gzip(kPod), "Content-Encoding: gzip\r\n");
  });
  const auto pod = api_->Get(kPods, kKey);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(NameOf(*pod), "a");
  EXPECT_TRUE(absl::StrContains(seen, "Accept-Encoding: gzip\r\n"));
  config_.gzip = false;
  Connect();
  EXPECT_TRUE(GetStatus().ok()) << "it comes so though nobody asked";
  EXPECT_FALSE(absl::StrContains(seen, "Accept-Encoding"));
}

TEST_F(RestApiTest, AGzipAnswerCountsAsWhatItDecodesTo) {
  config_.max_response_bytes = 1'000'000;
  const std::string bomb = Gzip(std::string(20'000'000, ' '));
  ASSERT_LT(bomb.size(), 100'000u);
  Start([&](const std::string&, Peer& peer) {
    return peer.Answer(200, bomb, "Content-Encoding: gzip\r\n");
  });
  EXPECT_EQ(GetStatus().message(), "the server's answer is larger than 1000000 bytes");
  EXPECT_EQ(api_->List(kPods, {}).status().message(),
            "the server's answer is larger than 1000000 bytes");
}

TEST_F(RestApiTest, AProxyPassesTheConnectionOn) {
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  TestProxy proxy;
  config_.proxy = proxy.Url("user:pass@");
  Connect();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetStatus().ok());
  const std::string to = server_->Url().substr(std::string("https://").size());
  EXPECT_EQ(proxy.requests(), (std::vector<std::string>{absl::StrCat(
                                  "CONNECT ", to, " HTTP/1.1\r\nHost: ", to,
                                  "\r\nProxy-Authorization: Basic ", "dXNlcjpwYXNz\r\n\r\n")}));
}

TEST_F(RestApiTest, AProxyThatRefusesIsNamed) {
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  TestProxy proxy([](const std::string&) { return "HTTP/1.1 403 No\r\n\r\n"; });
  config_.proxy = proxy.Url("");
  Connect();
  const absl::Status status = api_->Create(kPods, NewObject(kPods, kKey)).status();
  EXPECT_EQ(ReasonOf(status), Reason::kServiceUnavailable);  // it was never sent
  EXPECT_EQ(status.message(), absl::StrCat(config_.server, ": the proxy ", proxy.address(),
                                           " refused to connect to it: 403"));
}

// The server must not get the whole timeout of the call: it could write after the caller has given
// up.
TEST_F(RestApiTest, TheTimeThatTheServerIsGivenIsWhatConnectingLeft) {
  int64_t given_ms = 0;
  Start([&](const std::string& request, Peer& peer) {
    const size_t at = request.find("timeout=");
    given_ms = std::strtoll(request.c_str() + at + 8, nullptr, 10);
    return peer.Answer(201, kPod);
  });
  absl::Time connected;
  TestProxy proxy([&](const std::string&) {
    Mutex mu;
    CondVar never;
    MutexLock lock(mu);
    const absl::Time until = Clock::Real().Monotonic() + absl::Milliseconds(300);
    while (Clock::Real().Monotonic() < until) never.WaitFor(mu, absl::Milliseconds(300));
    connected = Clock::Real().Monotonic();
    return TestProxy::kConnected;
  });
  config_.proxy = proxy.Url("");
  Connect();
  const absl::Time start = Clock::Real().Monotonic();
  const absl::Duration timeout = absl::Seconds(60);
  ASSERT_TRUE(api_->Create(kPods, NewObject(kPods, kKey), {.timeout = timeout}).ok());
  EXPECT_GT(given_ms, 0);
  EXPECT_LE(absl::Milliseconds(given_ms), timeout - (connected - start));
}

}  // namespace
}  // namespace muster::kube
