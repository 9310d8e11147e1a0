#include "operator/web/http/http_server.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/web/http/http_message.h"
#include "operator/web/http/test_wire.h"

namespace muster::control {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGet[] = "GET / HTTP/1.1\r\n\r\n";

// Limits that no test reaches unless it wants to.
HttpServerOptions Patient() {
  HttpServerOptions options;
  options.patience = options.idle = absl::Minutes(5);
  options.workers = 1;
  return options;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options, TlsKeys keys = nullptr) {
    auto started = HttpServer::Start(
        "127.0.0.1:0",
        [this](const HttpRequest& request) {
          MutexLock lock(mu_);
          ++handled_;
          while (request.path == "/wait" && !released_) changed_.Wait(mu_);
          HttpResponse response;
          response.body = request.path == "/large" ? std::string(size_t{32} << 20, 'x')
                                                   : absl::StrCat("<", request.body.size(), ">");
          return response;
        },
        options, std::move(keys));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void Release() {
    MutexLock lock(mu_);
    released_ = true;
    changed_.NotifyAll();
  }
  int handled() {
    MutexLock lock(mu_);
    return handled_;
  }
  std::string Answer(const std::string& request) {
    Wire wire(server_->address());
    EXPECT_TRUE(wire.Send(request));
    return wire.ReadUntil(">");
  }

  Mutex mu_;
  CondVar changed_;
  bool released_ MUSTER_GUARDED_BY(mu_) = false;
  int handled_ MUSTER_GUARDED_BY(mu_) = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, BodiesArriveWholeAndConnectionsGoOn) {
  Start(Patient());
  Wire wire(server_->address());
  for (int i = 0; i < 3; ++i) {
    wire.Send("POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n");
    wire.Send(std::string(1000, 'x'));
    EXPECT_THAT(wire.ReadUntil(">"), EndsWith("\r\n\r\n<1000>"));
  }
}

TEST_F(HttpServerTest, ABodyInAnEncodingNeverReachesTheHandlerAndIsAnswered) {
  Start(Patient());
  for (const char* encoding : {"br", "gzip", "deflate"}) {
    Wire wire(server_->address());
    wire.Send(absl::StrCat("POST / HTTP/1.1\r\nContent-Encoding: ", encoding,
                           "\r\nContent-Length: 60000\r\n\r\n", std::string(60000, 'x')));
    EXPECT_THAT(wire.ReadAll(), StartsWith("HTTP/1.1 415 "));
  }
  EXPECT_EQ(handled(), 0);
}

TEST_F(HttpServerTest, AChunkedBodyBeyondTheLimitNeverReachesTheHandlerAndIsAnswered) {
  Start(Patient());
  Wire wire(server_->address());
  wire.Send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 17; ++i) wire.Send("1000\r\n" + std::string(4096, 'x') + "\r\n");
  EXPECT_THAT(wire.ReadAll(), StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(handled(), 0);
}

TEST_F(HttpServerTest, ThousandsOfRangesAreAnsweredWithThePageOnce) {
  Start(Patient());
  std::string ranges = "bytes=0-1";
  for (int i = 0; i < 2700; ++i) absl::StrAppend(&ranges, ",0-");
  const std::string answer = Answer(absl::StrCat("GET / HTTP/1.1\r\nRange: ", ranges, "\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 3\r\n"));
}

TEST_F(HttpServerTest, ABodyThatIsAnnouncedAsHugeIsNotReadToItsEnd) {
  Start(Patient());
  Wire wire(server_->address());
  wire.Send(absl::StrCat("POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n",
                         std::string(8192, 'x')));
  EXPECT_THAT(wire.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AClientThatDripsIsCutOff) {
  HttpServerOptions options = Patient();
  options.patience = absl::Milliseconds(300);
  Start(options);
  Wire slow(server_->address());
  ASSERT_TRUE(slow.Send("GET / HTTP/1.1\r\nX-Drip: "));
  const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
  bool cut = false;  // each byte arrives well within the limit of one read
  while (!cut && Clock::Real().Monotonic() < deadline) {
    slow.Send("x");
    cut = slow.HasNews(absl::Milliseconds(20));
  }
  EXPECT_TRUE(cut);
}

TEST_F(HttpServerTest, ASilentConnectionIsClosed) {
  HttpServerOptions options = Patient();
  options.idle = absl::Milliseconds(200);
  Start(options);
  EXPECT_EQ(Wire(server_->address()).ReadAll(), "");
}

// Slow clients must not hold the thread: eight of them, for ten seconds each, would delay others by
// 79 s.
TEST_F(HttpServerTest, ManySlowClientsOfOneAddressDelayNobody) {
  HttpServerOptions options = Patient();
  options.workers = 0;
  options.connections = 32;
  options.connections_per_peer = 16;
  Start(options);
  std::vector<std::unique_ptr<Wire>> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(std::make_unique<Wire>(server_->address()));
    slow.back()->Send("GET / HTTP/1.1\r\nX: ");
    if (i % 20 == 0) {
      EXPECT_THAT(Answer(kGet), EndsWith("<0>")) << i;
    }
  }
  EXPECT_THAT(Answer(kGet), EndsWith("<0>"));
  EXPECT_EQ(slow.front()->ReadAll(), "") << "the oldest gave way";
}

TEST_F(HttpServerTest, AConnectionThatIsBeingAnsweredKeepsItsPlace) {
  HttpServerOptions options = Patient();
  options.connections_per_peer = 2;
  Start(options);
  Wire asked(server_->address());
  asked.Send("GET /wait HTTP/1.1\r\n\r\n");
  while (handled() == 0) std::this_thread::yield();
  Wire first(server_->address()), second(server_->address());
  EXPECT_EQ(first.ReadAll(), "") << "it gave way to the second";
  Release();
  EXPECT_THAT(asked.ReadUntil(">"), EndsWith("<0>"));
  second.Send(kGet);
  EXPECT_THAT(second.ReadUntil(">"), EndsWith("<0>"));
}

TEST_F(HttpServerTest, AClientThatDoesNotReadItsAnswerDelaysNobody) {
  HttpServerOptions options = Patient();
  options.workers = 0;
  Start(options);
  Wire lazy(server_->address());
  lazy.Send("GET /large HTTP/1.1\r\n\r\n");
  while (handled() == 0) std::this_thread::yield();
  EXPECT_THAT(Answer(kGet), EndsWith("<0>"));
}

TEST_F(HttpServerTest, AConnectionServesItsRequestsInOrderAndIsThenClosed) {
  HttpServerOptions options = Patient();
  options.requests_per_connection = 3;
  Start(options);
  Wire wire(server_->address());
  std::string four;  // one too many
  for (int i = 0; i < 4; ++i) absl::StrAppend(&four, kGet);
  wire.Send(four);
  const std::string answer = wire.ReadAll();
  int answers = 0;
  for (size_t at = 0; (at = answer.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 3);
}

TEST_F(HttpServerTest, HeadIsAnsweredWithoutTheBody) {
  Start(Patient());
  Wire wire(server_->address());
  wire.Send("HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answer = wire.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsA500) {
  auto server = *HttpServer::Start("127.0.0.1:0", [](const HttpRequest&) -> HttpResponse {
    throw std::runtime_error("a type it did not expect");
  });
  Wire wire(server->address());
  wire.Send(kGet);
  EXPECT_THAT(wire.ReadUntil("}"), StartsWith("HTTP/1.1 500 "));
}

// A client that uses OpenSSL and trusts one authority.
class TlsWire {
 public:
  TlsWire(const Wire& wire, const std::string& authority_pem)
      : context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
    BIO* const bio = BIO_new_mem_buf(authority_pem.data(), static_cast<int>(authority_pem.size()));
    X509* const root = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), root);
    X509_free(root);
    BIO_free(bio);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    ssl_ = SSL_new(context_);
    SSL_set1_host(ssl_, kCoordinatorServerName);
    SSL_set_fd(ssl_, wire.fd());
  }
  ~TlsWire() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  bool Connect() { return SSL_connect(ssl_) == 1; }
  std::string Ask(const std::string& request) {
    SSL_write(ssl_, request.data(), static_cast<int>(request.size()));
    std::string all;
    char c = 0;
    while (all.find('>') == std::string::npos && SSL_read(ssl_, &c, 1) == 1) all.push_back(c);
    return all;
  }

 private:
  SSL_CTX* const context_;
  SSL* ssl_;
};

TEST_F(HttpServerTest, OverTlsItShowsTheNewestCertificateOfItsAuthority) {
  const absl::Time now = Clock::Real().Wall();
  const CertificateAuthority authority = *CertificateAuthority::Make(now);
  const CertificateAuthority other = *CertificateAuthority::Make(now);
  Mutex mu;
  const CertificateAuthority* issuer = &authority;
  Start(Patient(), [&]() -> absl::StatusOr<TlsKeyPair> {
    MutexLock lock(mu);
    const auto issued = issuer->IssueServer(now, absl::Hours(1));
    if (!issued.ok()) return issued.status();
    return TlsKeyPair{issued->certificate_pem, issued->key_pem};
  });
  {
    Wire wire(server_->address());
    TlsWire tls(wire, authority.bundle_pem());
    ASSERT_TRUE(tls.Connect());
    EXPECT_THAT(tls.Ask(kGet), EndsWith("<0>"));
    EXPECT_THAT(tls.Ask("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"), EndsWith("<2>"));
  }
  {
    MutexLock lock(mu);
    issuer = &other;
  }
  Wire wire(server_->address());
  TlsWire tls(wire, authority.bundle_pem());
  EXPECT_FALSE(tls.Connect()) << "another authority's certificate is served now";
  Wire plain(server_->address());
  plain.Send(kGet);
  EXPECT_EQ(plain.ReadAll().find("HTTP"), std::string::npos);
}

TEST_F(HttpServerTest, ACertificateThatIsNoneIsAnErrorOfTheStart) {
  EXPECT_FALSE(HttpServer::Start(
                   "127.0.0.1:0", [](const HttpRequest&) { return HttpResponse(); }, {},
                   []() -> absl::StatusOr<TlsKeyPair> { return absl::NotFoundError("no file"); })
                   .ok());
}

}  // namespace
}  // namespace muster::control
