#include "operator/web/http/request_parser.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using State = RequestParser::State;

// Feeds the bytes in pieces; the result must not depend on their size.
void FeedAll(RequestParser& parser, const std::string& bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size(); at += piece) parser.Feed(bytes.substr(at, piece));
}

int RefusalOf(const std::string& bytes) {
  int code = 0;
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{7}}) {
    RequestParser parser(RequestLimits{});
    FeedAll(parser, bytes, piece);
    EXPECT_EQ(parser.state(), State::kRefused) << bytes.substr(0, 200);
    EXPECT_TRUE(code == 0 || code == parser.refusal().status) << "it depends on the pieces";
    code = parser.refusal().status;
  }
  return code;
}

HttpRequest Whole(const std::string& bytes) {
  RequestParser parser(RequestLimits{});
  FeedAll(parser, bytes, 3);
  EXPECT_EQ(parser.state(), State::kWhole) << parser.refusal().body;
  return parser.request();
}

std::string Post(const std::string& headers, const std::string& body) {
  return absl::StrCat("POST /api/v1/whatif HTTP/1.1\r\nHost: h\r\n", headers, "\r\n", body);
}

TEST(RequestParserTest, ARequestIsReadWithItsTargetDecoded) {
  const HttpRequest request = Whole(
      "GET /api/v1/jobs/a%20b?limit=5&name=x%2By+z&curve HTTP/1.1\r\nHOST: here:80\r\n"
      "accept: text/plain\r\nAccept: */*\r\nAuthorization:  Bearer t \r\nOrigin: o\r\n\r\n");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/api/v1/jobs/a b");
  EXPECT_EQ(request.Parameter("limit"), "5");
  EXPECT_EQ(request.Parameter("name"), "x+y z");
  EXPECT_TRUE(request.Has("curve"));
  EXPECT_EQ(request.host, "here:80");
  EXPECT_EQ(request.accept, "text/plain, */*");
  EXPECT_EQ(request.authorization, "Bearer t");
  EXPECT_EQ(request.origin, "o");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(Whole("GET / HTTP/1.0\r\n\r\n").keep_alive);
}

TEST(RequestParserTest, BodiesComeWithALengthInChunksOrNotAtAll) {
  EXPECT_EQ(Whole(Post("Content-Length: 5\r\n", "hello")).body, "hello");
  EXPECT_EQ(
      Whole(Post("Transfer-Encoding: chunked\r\n", "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n")).body,
      "hello");
  EXPECT_EQ(Whole("POST /api/v1/jobs/a/b/stop HTTP/1.1\r\n\r\n").body, "") << "curl -XPOST";
  EXPECT_EQ(Whole(Post("Content-Encoding: identity\r\nContent-Length: 1\r\n", "x")).body, "x");
}

// Inflating one body of 809 bytes in br would take 1.09 GB, and 58 KB of gzip 3.5 GB.
TEST(RequestParserTest, AnyContentEncodingIsRefusedBeforeTheBody) {
  for (const char* encoding : {"br", "gzip", "deflate", "zstd", "GZIP", "identity, gzip", "x"}) {
    const std::string head =
        Post(absl::StrCat("Content-Encoding: ", encoding, "\r\nContent-Length: 800\r\n"), "");
    EXPECT_EQ(RefusalOf(head), 415) << encoding << ": no byte of the body was needed";
    EXPECT_EQ(
        RefusalOf(
            Post(absl::StrCat("Transfer-Encoding: chunked\r\nContent-Encoding: ", encoding, "\r\n"),
                 "")),
        415);
  }
  EXPECT_EQ(RefusalOf(Post("Content-Encoding: identity\r\nContent-Encoding: br\r\n"
                           "Content-Length: 1\r\n",
                           "")),
            415);
}

TEST(RequestParserTest, ABodyAboveTheLimitIsRefusedWhenItIsAnnounced) {
  EXPECT_EQ(RefusalOf(Post("Content-Length: 65537\r\n", "")), 413);
  EXPECT_EQ(RefusalOf(Post("Content-Length: 1000000000000\r\n", "")), 413);
}

TEST(RequestParserTest, AChunkedBodyIsCountedAsItsChunksCome) {
  std::string body;
  for (int i = 0; i < 17; ++i) absl::StrAppend(&body, "1000\r\n", std::string(4096, 'x'), "\r\n");
  RequestParser parser(RequestLimits{});
  FeedAll(parser, Post("Transfer-Encoding: chunked\r\n", body), 1000);
  EXPECT_EQ(parser.state(), State::kRefused);
  EXPECT_EQ(parser.refusal().status, 413);
  EXPECT_LE(parser.request().body.size(), RequestLimits{}.body);
  EXPECT_EQ(RefusalOf(Post("Transfer-Encoding: chunked\r\n", body)), 413);
}

TEST(RequestParserTest, ChunksThatHoldNearlyNothingEndSomewhere) {
  std::string body;
  for (int i = 0; i < 4000; ++i) absl::StrAppend(&body, "1;", std::string(100, 'e'), "\r\nx\r\n");
  EXPECT_EQ(RefusalOf(Post("Transfer-Encoding: chunked\r\n", body)), 413);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 4000; ++i) absl::StrAppend(&trailers, "Trailer: value\r\n");
  EXPECT_EQ(RefusalOf(Post("Transfer-Encoding: chunked\r\n", trailers)), 431);
}

TEST(RequestParserTest, HeadsAndTargetsHaveLimits) {
  EXPECT_EQ(RefusalOf(absl::StrCat("GET /", std::string(9000, 'x'), " HTTP/1.1\r\n\r\n")), 414);
  std::string head = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 4000; ++i) absl::StrAppend(&head, "A: b\r\n");
  EXPECT_EQ(RefusalOf(head), 431);
  EXPECT_EQ(RefusalOf(absl::StrCat("GET / HTTP/1.1\r\nA: ", std::string(20000, 'x'))), 431);
}

// An answer to 2,700 ranges in 8 KB would have 54 MB.
TEST(RequestParserTest, RangesAreNotKept) {
  std::string ranges = "bytes=0-1";
  for (int i = 0; i < 2700; ++i) absl::StrAppend(&ranges, ",0-");
  const HttpRequest request =
      Whole(absl::StrCat("GET /metrics HTTP/1.1\r\nRange: ", ranges, "\r\n\r\n"));
  EXPECT_EQ(request.path, "/metrics");
}

TEST(RequestParserTest, MalformedAndUnsupportedRequestsAreRefused) {
  EXPECT_EQ(RefusalOf("DELETE /x HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(RefusalOf("CONNECT a:1 HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET / HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("hello\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET http://other/ HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET /%zz HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET /%0a HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf("GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n"), 400);
  EXPECT_EQ(RefusalOf(Post("Content-Length: 1\r\nContent-Length: 2\r\n", "")), 400);
  EXPECT_EQ(RefusalOf(Post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "")), 400);
  EXPECT_EQ(RefusalOf(Post("Transfer-Encoding: gzip\r\n", "")), 400);
}

TEST(RequestParserTest, ContinueIsAnsweredOnlyIfTheBodyIsWanted) {
  RequestParser parser(RequestLimits{});
  parser.Feed(Post("Expect: 100-continue\r\nContent-Length: 5\r\n", ""));
  EXPECT_TRUE(parser.TakeContinue());
  EXPECT_FALSE(parser.TakeContinue());
  parser.Next();
  parser.Feed(Post("Expect: 100-continue\r\nContent-Length: 1000000\r\n", ""));
  EXPECT_FALSE(parser.TakeContinue());
  EXPECT_EQ(parser.refusal().status, 413);
}

TEST(RequestParserTest, OneRequestIsTakenAtATime) {
  RequestParser parser(RequestLimits{});
  const std::string two = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
  const size_t taken = parser.Feed(two);
  EXPECT_EQ(taken, two.size() / 2);
  EXPECT_EQ(parser.request().path, "/a");
  EXPECT_EQ(parser.Feed(two.substr(taken)), 0u);
  parser.Next();
  EXPECT_FALSE(parser.begun());
  parser.Feed(two.substr(taken));
  EXPECT_EQ(parser.request().path, "/b");
}

TEST(HttpMessageTest, AnAnswerTellsItsLengthAndWhetherTheConnectionGoesOn) {
  const std::string bytes = EncodeResponse(ErrorResponse(415, "no"), false, false);
  EXPECT_THAT(bytes, testing::StartsWith("HTTP/1.1 415 Unsupported Media Type\r\n"));
  EXPECT_THAT(bytes, HasSubstr("\r\nContent-Length: 26\r\nConnection: close\r\n"));
  EXPECT_THAT(bytes, testing::EndsWith("\r\n\r\n{\"code\":415,\"error\":\"no\"}\n"));
  EXPECT_THAT(EncodeResponse(ErrorResponse(415, "no"), true, true),
              testing::EndsWith("Connection: keep-alive\r\nCache-Control: no-store\r\n"
                                "X-Content-Type-Options: nosniff\r\n\r\n"));
}

}  // namespace
}  // namespace muster::control
