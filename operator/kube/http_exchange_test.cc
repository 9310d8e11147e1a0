#include "operator/kube/http_exchange.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "operator/kube/scripted_stream.h"

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
  // What nobody asked for.
  EXPECT_FALSE(Get(std::string(kLength) + "more").answer.keeps_connection);
  EXPECT_TRUE(Get("HTTP/1.1 204 No Content\r\n\r\n").answer.keeps_connection);
}

TEST(HttpExchangeTest, WhatIsNoHttpEndsIt) {
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

TEST(HttpExchangeTest, TheReceiverMayEndIt) {
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
