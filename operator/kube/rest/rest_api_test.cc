#include "operator/kube/rest/rest_api.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/http/tls_test_server.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api_fixture.h"
#include "operator/kube/rest/rest_transport.h"

// Tests RestApi against a server that misbehaves as a real one cannot be made to.
namespace muster::kube {
namespace {

TEST_F(RestApiTest, OneConnectionServesManyCalls) {
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(GetStatus().ok());
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(requests_.lines(), std::vector<std::string>(10, "get pods 200"));
}

TEST_F(RestApiTest, ConcurrentCallsShareABoundedNumberOfConnections) {
  config_.max_connections = 3;
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) EXPECT_TRUE(GetStatus({.timeout = absl::Seconds(60)}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(server_->connections(), 3);
}

TEST_F(RestApiTest, RequestsSayWhoAndForHowLong) {
  config_.token = "secret";
  config_.user_agent = "muster-test/1";
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    return peer.Answer(200, kPod);
  });
  ASSERT_TRUE(api_->PatchMetadata(kPods, kKey, {{"labels", {{"a", "b"}}}}, {"u", "7"}).ok());
  EXPECT_TRUE(absl::StartsWith(seen, "PATCH /api/v1/namespaces/ns/pods/a?timeout=")) << seen;
  EXPECT_TRUE(absl::StrContains(seen, "Authorization: Bearer secret\r\n"));
  EXPECT_TRUE(absl::StrContains(seen, "User-Agent: muster-test/1\r\n"));
  EXPECT_TRUE(absl::StrContains(seen, "Content-Type: application/merge-patch+json\r\n"));
  EXPECT_TRUE(
      absl::EndsWith(seen, R"({"metadata":{"labels":{"a":"b"},"resourceVersion":"7","uid":"u"}})"));
}

TEST_F(RestApiTest, ANameCannotBecomeAnotherPath) {
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  for (const char* name : {"", ".", "..", "a/b", "a%2fb"}) {
    EXPECT_EQ(ReasonOf(api_->Delete(kPods, {"ns", name})), Reason::kInvalid) << name;
  }
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(RestApiTest, ALogArrivesInThePiecesInWhichItIsWritten) {
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request.substr(0, request.find("&timeout="));
    peer.Write(TlsTestServer::kChunked);
    return peer.Chunk("one\ntw") && peer.Chunk("o\n") && peer.Chunk("");
  });
  std::vector<std::string> pieces;
  const absl::Status read = api_->ReadLog(
      kKey, {.container = "worker", .follow = true, .since_time = "", .tail_lines = 5},
      [&](std::string_view bytes) {
        pieces.emplace_back(bytes);
        return absl::OkStatus();
      },
      absl::Seconds(30));
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(absl::StrJoin(pieces, ""), "one\ntwo\n");
  EXPECT_EQ(seen, "GET /api/v1/namespaces/ns/pods/a/log?container=worker&follow=true&tailLines=5");
}

TEST_F(RestApiTest, ALogIsReadNoFurtherThanItsReaderWants) {
  Start([](const std::string&, Peer& peer) {
    peer.Write(TlsTestServer::kChunked);
    while (peer.Chunk("and so on\n")) {
    }
    return false;
  });
  const absl::Status read = api_->ReadLog(
      kKey, {}, [](std::string_view) { return absl::AbortedError("enough"); }, absl::Seconds(30));
  EXPECT_EQ(read, absl::AbortedError("enough"));
}

TEST_F(RestApiTest, TooManyRequestsIsTriedAgainWhenTheServerSaysSo) {
  std::atomic<int> calls{0};
  Start([&](const std::string&, Peer& peer) {
    if (++calls < 3) {
      return peer.Answer(429, StatusBody(429, "TooManyRequests", "busy"), "Retry-After: 0\r\n");
    }
    return peer.Answer(201, kPod);
  });
  EXPECT_TRUE(api_->Create(kPods, NewObject(kPods, kKey)).ok());
  EXPECT_EQ(requests_.lines(),
            (std::vector<std::string>{"create pods 429", "create pods 429", "create pods 201"}));
}

TEST_F(RestApiTest, ARetryAfterBeyondTheDeadlineIsTheCallers) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(429, StatusBody(429, "TooManyRequests", "busy"), "Retry-After: 30\r\n");
  });
  const absl::Status status = GetStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfterOf(status), absl::Seconds(30));
}

TEST_F(RestApiTest, RefusalsKeepTheServersWords) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(409, StatusBody(409, "Conflict", "modified"));
  });
  const absl::Status status = api_->Update(kPods, NewObject(kPods, kKey)).status();
  EXPECT_EQ(ReasonOf(status), Reason::kConflict);
  EXPECT_EQ(status.message(), "modified");
}

TEST_F(RestApiTest, AnErrorOfAProxyIsNoJson) {
  StartRaw("HTTP/1.1 502 Bad\r\nContent-Length: 9\r\n\r\n<b>\x01no</b>");
  EXPECT_EQ(GetStatus().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(GetStatus().message(), "<b> no</b");
}

TEST_F(RestApiTest, AnAnswerThatIsNoJson) {
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, "hello"); });
  EXPECT_EQ(GetStatus().message(),
            server_->Url() + ": the answer to get of pods is not a JSON object: hello");
  EXPECT_EQ(GetStatus().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ReasonOf(api_->Create(kPods, NewObject(kPods, kKey)).status()), Reason::kTimeout);
}

// Objects that are missing from a list count as deleted, so a body without items must be an error.
TEST_F(RestApiTest, AnObjectWithoutItemsIsNoEmptyList) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(200, R"({"metadata": {"resourceVersion": "7"}})");
  });
  const absl::Status status = api_->List(kPods, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "the answer to list of pods is not a list of items"))
      << status;
}

// The server sends one byte of a header at a time, for as long as the client stays.
TEST_F(RestApiTest, AHeaderThatDripsDoesNotOutlastTheCall) {
  Start([](const std::string&, Peer& peer) {
    peer.Write("HTTP/1.1 200 OK\r\nX-Drip: ");
    while (peer.Write("x")) absl::SleepFor(absl::Milliseconds(20));
    return false;
  });
  const absl::Status status = GetStatus({.timeout = absl::Milliseconds(300)});
  EXPECT_EQ(ReasonOf(status), Reason::kTimeout);
  EXPECT_EQ(status.message(), server_->Url() + ": it did not answer in time");
}

TEST_F(RestApiTest, HalfAnAnswer) {
  StartRaw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"kind\":");
  EXPECT_EQ(ReasonOf(GetStatus()), Reason::kServiceUnavailable);
  const absl::Status write = api_->Create(kPods, NewObject(kPods, kKey)).status();
  EXPECT_EQ(ReasonOf(write), Reason::kTimeout);
  EXPECT_EQ(write.message(), server_->Url() +
                                 ": the connection broke before the answer; the write may have "
                                 "happened");
}

TEST_F(RestApiTest, GarbageInsteadOfHttp) {
  StartRaw("\x16\x03garbage\r\n\r\n\r\n");
  EXPECT_EQ(ReasonOf(GetStatus()), Reason::kServiceUnavailable);
}

TEST_F(RestApiTest, ASilentServerCostsTheCallsTime) {
  Start([](const std::string&, Peer& peer) {
    peer.WaitForClose();
    return false;
  });
  const CallOptions brief{.timeout = absl::Milliseconds(200)};
  EXPECT_EQ(ReasonOf(GetStatus(brief)), Reason::kTimeout);
  EXPECT_EQ(ReasonOf(api_->Delete(kPods, kKey, {}, brief)), Reason::kTimeout);
}

TEST_F(RestApiTest, ATrickleDoesNotStretchTheCallsTime) {
  Start([](const std::string&, Peer& peer) {
    peer.Write(TlsTestServer::kChunked);
    while (peer.Chunk(" ")) {
    }
    return false;
  });
  EXPECT_EQ(ReasonOf(GetStatus({.timeout = absl::Milliseconds(200)})), Reason::kTimeout);
}

TEST(RefusalTest, AnObjectTooLargeForEtcdIsTooLarge) {
  const absl::Status refusal =
      RefusalOf(500,
                R"({"kind": "Status", "reason": "InternalError", "code": 500,
                    "message": "etcdserver: request is too large"})",
                "");
  EXPECT_EQ(ReasonOf(refusal), Reason::kTooLarge);
  EXPECT_EQ(refusal.message(), "etcdserver: request is too large");
}

TEST_F(RestApiTest, AnAnswerLargerThanTheLimitIsRefused) {
  config_.max_response_bytes = 1'000'000;
  Start(
      [](const std::string&, Peer& peer) { return peer.Answer(200, std::string(1'400'000, ' ')); });
  const absl::Status status = GetStatus();
  EXPECT_EQ(ReasonOf(status), Reason::kTooLarge);
  EXPECT_EQ(status.message(), "the server's answer is larger than 1000000 bytes");
}

TEST_F(RestApiTest, AnObjectOfOnePointFourMegabytes) {
  const std::string big(1'400'000, 'x');
  Start([&](const std::string&, Peer& peer) {
    return peer.Answer(200, absl::StrCat(R"({"metadata":{"name":"a"},"data":")", big, R"("})"));
  });
  const auto object = api_->Get(kConfigMaps, kKey);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(StringAt(*object, {"data"}).size(), big.size());
}

TEST_F(RestApiTest, AConnectionThatTheServerClosedIsNotUsedForAWrite) {
  Start([](const std::string&, Peer& peer) {
    peer.Answer(200, kPod);
    return false;  // and closes
  });
  for (int i = 0; i < 5; ++i) {
    const absl::Status status = api_->Create(kPods, NewObject(kPods, kKey)).status();
    // The close may cross the next write, whose result is then unknown, but never silently lost.
    EXPECT_TRUE(status.ok() || ReasonOf(status) == Reason::kTimeout) << status;
    EXPECT_TRUE(GetStatus().ok());
  }
}

TEST_F(RestApiTest, TheClientsOwnRateLimit) {
  config_.qps = 1;
  config_.burst = 1;
  Start([](const std::string&, Peer& peer) { return peer.Answer(200, kPod); });
  // The second call waits, unless the first took a second.
  for (int i = 0; i < 100 && requests_.throttled() == 0; ++i) EXPECT_TRUE(GetStatus().ok());
  EXPECT_EQ(requests_.throttled(), 1);
  config_.qps = 0.001;
  config_.burst = 1;
  Connect();
  EXPECT_TRUE(GetStatus().ok());
  EXPECT_EQ(ReasonOf(GetStatus()), Reason::kTooManyRequests);
}

TEST_F(RestApiTest, AnUnreachableServer) {
  Start([](const std::string&, Peer&) { return false; });
  server_.reset();
  const absl::Status status = api_->Create(kPods, NewObject(kPods, kKey)).status();
  EXPECT_EQ(ReasonOf(status), Reason::kServiceUnavailable);  // it was never sent
  EXPECT_EQ(status.message(), config_.server + ": it cannot be reached");
}

class RestApiTlsTest : public RestApiTest {
 protected:
  void Serve(const TestCertificate& certificate, int max_version = 0) {
    server_.emplace(
        certificate, [](const std::string&, Peer& peer) { return peer.Answer(200, kPod); }, "",
        max_version);
    config_.server = server_->Url();
    config_.ca.pem = authority_.certificate;
    Connect();
  }
  std::string Refusal() {
    const absl::Status status = GetStatus();
    EXPECT_EQ(ReasonOf(status), Reason::kServiceUnavailable);
    const std::string message(status.message());
    const std::string start = server_->Url() + ": ";
    return message.substr(std::min(start.size(), message.size()));
  }
};

TEST_F(RestApiTlsTest, AnUnknownAuthorityIsRefused) {
  const TestCertificate other = MakeTestCertificate(nullptr, "");
  Serve(MakeTestCertificate(&other, "IP:127.0.0.1"));
  EXPECT_EQ(Refusal(), "its certificate is refused: unable to get local issuer certificate");
}

TEST_F(RestApiTlsTest, TheMachinesRootsDoNotCountBesideANamedAuthority) {
  const TestCertificate other = MakeTestCertificate(nullptr, "");
  const std::string path = testing::TempDir() + "/roots.pem";
  FILE* file = fopen(path.c_str(), "w");
  fwrite(other.certificate.data(), 1, other.certificate.size(), file);
  fclose(file);
  setenv("SSL_CERT_FILE", path.c_str(), 1);
  Serve(MakeTestCertificate(&other, "IP:127.0.0.1"));
  EXPECT_EQ(Refusal(), "its certificate is refused: unable to get local issuer certificate");
  config_.ca.pem = "";  // now the machine's roots are trusted
  Connect();
  EXPECT_TRUE(GetStatus().ok());
  unsetenv("SSL_CERT_FILE");
}

TEST_F(RestApiTlsTest, ACertificateForAnotherNameIsRefused) {
  Serve(MakeTestCertificate(&authority_, "DNS:other.test,IP:10.0.0.1"));
  EXPECT_EQ(Refusal(), "its certificate is refused: IP address mismatch");
}

TEST_F(RestApiTlsTest, AnExpiredCertificateIsRefused) {
  Serve(MakeTestCertificate(&authority_, "IP:127.0.0.1", -absl::Hours(1)));
  EXPECT_EQ(Refusal(), "its certificate is refused: certificate has expired");
}

TEST_F(RestApiTlsTest, TheNameToCheckCanBeGiven) {
  config_.tls_server_name = "api.test";
  Serve(certificate_);
  EXPECT_TRUE(GetStatus().ok());
  config_.tls_server_name = "other.test";
  Connect();
  EXPECT_EQ(Refusal(), "its certificate is refused: hostname mismatch");
}

TEST_F(RestApiTlsTest, OldTlsIsRefused) {
  Serve(certificate_, TLS1_1_VERSION);
  EXPECT_EQ(Refusal(), "the TLS handshake failed (TLS 1.2 or later is required)");
}

TEST_F(RestApiTlsTest, AClientShowsItsCertificate) {
  const TestCertificate client = MakeTestCertificate(&authority_, "DNS:client");
  server_.emplace(
      certificate_, [](const std::string&, Peer& peer) { return peer.Answer(200, kPod); },
      authority_.certificate);
  config_.server = server_->Url();
  config_.ca.pem = authority_.certificate;
  Connect();
  EXPECT_FALSE(GetStatus().ok());
  config_.client_certificate.pem = client.certificate;
  config_.client_key.pem = client.key;
  Connect();
  EXPECT_TRUE(GetStatus().ok());
  config_.client_key.pem = certificate_.key;
  EXPECT_EQ(RestApi::Create(config_).status().message(),
            "the client key does not belong to the client certificate");
  config_.client_key.pem = "nothing";
  EXPECT_EQ(RestApi::Create(config_).status().message(),
            "the client key is not an unencrypted PEM private key");
}

TEST_F(RestApiTest, ARotatedTokenIsUsedAfterARefusal) {
  const std::string path = testing::TempDir() + "/token";
  const auto write = [&](const std::string& token) {
    FILE* file = fopen(path.c_str(), "w");
    fwrite(token.data(), 1, token.size(), file);
    fclose(file);
  };
  write("old");
  config_.token_file = path;
  Start([](const std::string& request, Peer& peer) {
    if (absl::StrContains(request, "Bearer new")) return peer.Answer(200, kPod);
    return peer.Answer(401, StatusBody(401, "Unauthorized", "expired"));
  });
  EXPECT_EQ(GetStatus().code(), absl::StatusCode::kUnauthenticated);
  write("new");
  // The credentials are read again at most once a second.
  const absl::Time deadline = absl::Now() + kPatience;
  absl::Status status = GetStatus();
  while (!status.ok() && absl::Now() < deadline) status = GetStatus();
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace muster::kube
