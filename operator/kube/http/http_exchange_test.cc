#include "operator/kube/http/http_exchange.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "operator/kube/http/gzip_text.h"
#include "operator/kube/http/scripted_stream.h"

namespace muster::kube {
namespace {

struct Result {
  bool whole = false;
  HttpAnswer answer;
  std::string body;
};

Result Get(const std::string& from, size_t piece = 100'000, bool cut = false) {
  ScriptedStream stream(from, piece, cut);
  Result result;
  result.answer.receive = [&](std::string_view data) {
    result.body.append(data);
    return true;
  };
  result.whole = Exchange(stream, {"GET / HTTP/1.1\r\n\r\n", ""}, result.answer);
  EXPECT_EQ(stream.written, "GET / HTTP/1.1\r\n\r\n");
  return result;
}

constexpr char kLength[] =
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX-Other:y\r\nRetry-After:  7 \r\n\r\nhello";
constexpr char kChunks[] =
    "HTTP/1.1 201\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nT: "
    "x\r\n\r\n";
constexpr char kToTheEnd[] = "HTTP/1.0 200 OK\r\n\r\nhello";
constexpr char kContinued[] =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
constexpr char kBareLines[] = "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello";  // RFC 9112, 2.2

TEST(HttpExchangeTest, ReadsBodiesHoweverTheyCome) {
  for (const char* text : {kLength, kChunks, kToTheEnd, kContinued, kBareLines}) {
    for (const size_t piece : {1, 2, 7, 100'000}) {
      const Result got = Get(text, piece);
      EXPECT_TRUE(got.whole) << text;
      EXPECT_EQ(got.body, "hello") << text;
      EXPECT_EQ(got.answer.code, text == kChunks ? 201 : 200);
      EXPECT_EQ(got.answer.keeps_connection, text != kToTheEnd);
      EXPECT_EQ(got.answer.retry_after, text == kLength ? "7" : "");
    }
  }
}

std::string GzipAnswer(std::string_view body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", std::string(body));
}

TEST(HttpExchangeTest, AGzipAnswerIsDecodedAsItArrives) {
  const std::string text = std::string(100'000, 'a') + "the end";
  const std::string zipped = Gzip(text);
  for (const size_t piece : {1, 7, 100'000}) {
    const Result got = Get(GzipAnswer(zipped), piece);
    EXPECT_TRUE(got.whole);
    EXPECT_EQ(got.body, text);
    EXPECT_TRUE(got.answer.keeps_connection);
  }
  EXPECT_EQ(Get(GzipAnswer(Gzip(""))).body, "");
  EXPECT_TRUE(Get("HTTP/1.1 204 No\r\nContent-Encoding: gzip\r\n\r\n").whole);
}

TEST(HttpExchangeTest, AGzipAnswerThatIsDamagedIsNotWhole) {
  const std::string zipped = Gzip("hello, hello, hello");
  for (size_t size = 1; size < zipped.size(); ++size) {
    EXPECT_FALSE(Get(GzipAnswer(zipped.substr(0, size))).whole) << size;
  }
  std::string wrong = zipped;
  wrong[wrong.size() - 5] ^= 1;  // of the checksum
  EXPECT_FALSE(Get(GzipAnswer(wrong)).whole);
  EXPECT_FALSE(Get(GzipAnswer(zipped + "more")).whole);
  EXPECT_FALSE(Get(GzipAnswer("plain text")).whole);
}

// The body is a thousandth of its decoded length on the wire: the receiver ends the exchange.
TEST(HttpExchangeTest, AGzipAnswerIsBoundedByWhatItDecodesTo) {
  const std::string zipped = Gzip(std::string(50'000'000, 'a'));
  ASSERT_LT(zipped.size(), 100'000u);
  ScriptedStream stream(GzipAnswer(zipped), 100'000);
  size_t taken = 0;
  size_t largest = 0;
  HttpAnswer answer;
  answer.receive = [&](std::string_view data) {
    taken += data.size();
    largest = std::max(largest, data.size());
    return taken < 1'000'000;
  };
  EXPECT_FALSE(Exchange(stream, {"GET", ""}, answer));
  EXPECT_LT(taken, 1'100'000u);
  EXPECT_LE(largest, 64u << 10);
}

TEST(HttpExchangeTest, AnotherEncodingIsNotTakenForText) {
  EXPECT_FALSE(Get("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx").whole);
  EXPECT_TRUE(
      Get("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\nx").whole);
}

TEST(HttpExchangeTest, WarningsAreKept) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nWarning: 299 - \"one\"\r\nwarning:\t299 - \"two\" \r\n"
      "Content-Length: 0\r\n\r\n";
  for (const size_t piece : {1, 100'000}) {
    EXPECT_EQ(Get(text, piece).answer.warnings,
              (std::vector<std::string>{"299 - \"one\"", "299 - \"two\""}));
  }
  std::string many = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  for (int i = 0; i < 100; ++i) many += "Warning: 299 - \"x\"\r\n";
  EXPECT_EQ(Get(many + "\r\n").answer.warnings.size(), 16u);
}

TEST(HttpExchangeTest, AnAnswerThatIsCutIsNotWhole) {
  for (const std::string text : {kLength, kChunks, kContinued}) {
    for (size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(Get(text.substr(0, size)).whole) << text.substr(0, size);
    }
  }
  EXPECT_FALSE(Get(kToTheEnd, 3, /*cut=*/true).whole);
  EXPECT_EQ(Get("").answer.code, 0);
  EXPECT_EQ(Get("HTTP/1.1 20").answer.code, 0);
}

TEST(HttpExchangeTest, WhetherTheConnectionServesAnother) {
  EXPECT_FALSE(Get("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n")
                   .answer.keeps_connection);
  // Extra bytes after an answer make the connection unusable.
  EXPECT_FALSE(Get(std::string(kLength) + "more").answer.keeps_connection);
  EXPECT_TRUE(Get("HTTP/1.1 204 No Content\r\n\r\n").answer.keeps_connection);
}

TEST(HttpExchangeTest, TextThatIsNotHttpEndsTheExchange) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const std::string& text :
       {std::string("\x16\x03\r\n\r\n"), std::string("HTTP/2 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 2x0 OK\r\n\r\n"), std::string("HTTP/1.1 2000 OK\r\n\r\n"),
        std::string("HTTP/1.1 099 OK\r\n\r\n"),
        ok + "X-Other: a\x01"
             "b\r\n\r\n",
        ok + "no colon\r\n\r\n", ok + ": x\r\n\r\n", ok + "Content-Length: -1\r\n\r\n",
        ok + "Content-Length: \r\n\r\n", ok + "Content-Length: 99999999999999999999\r\n\r\n",
        ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        ok + "Transfer-Encoding: gzip\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\n\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
        ok + std::string(20'000, 'x')}) {
    EXPECT_FALSE(Get(text).whole) << text.substr(0, 80);
  }
  std::string endless = ok;
  for (int i = 0; i < 20'000; ++i) endless += "X-Header: y\r\n";
  EXPECT_FALSE(Get(endless).whole);
}

TEST(HttpExchangeTest, TheReceiverMayEndTheExchange) {
  ScriptedStream stream(kChunks, 100'000);
  HttpAnswer answer;
  answer.receive = [](std::string_view) { return false; };
  EXPECT_FALSE(Exchange(stream, {"GET", " all"}, answer));
  EXPECT_EQ(stream.written, "GET all");
  EXPECT_EQ(answer.code, 201);
}

// A small answer that came in one piece costs one read.
TEST(HttpExchangeTest, ReadsNoOftenerThanNeeded) {
  ScriptedStream stream(kLength, 100'000);
  HttpAnswer answer;
  answer.receive = [](std::string_view) { return true; };
  EXPECT_TRUE(Exchange(stream, {"GET", ""}, answer));
  EXPECT_EQ(stream.reads, 1);
}

}  // namespace
}  // namespace muster::kube
