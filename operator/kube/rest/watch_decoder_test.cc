#include "operator/kube/rest/watch_decoder.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

constexpr char kAdded[] =
    R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"},"x":"é😀"}})"
    "\n";
constexpr char kBookmark[] =
    R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}})"
    "\n";
constexpr char kGone[] =
    R"x({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",)x"
    R"x("message":"too old resource version: 1 (7)"}})x"
    "\n";

std::vector<WatchEvent> Drain(WatchDecoder& decoder, absl::Status& status) {
  std::vector<WatchEvent> events;
  while (true) {
    auto event = decoder.Next();
    status = event.status();
    if (!event.ok() || !event->has_value()) return events;
    events.push_back(**std::move(event));
  }
}

TEST(WatchDecoderTest, EveryCutGivesTheSameEvents) {
  const std::string stream = std::string(kAdded) + "\n" + kBookmark;
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    WatchDecoder decoder;
    absl::Status status;
    ASSERT_TRUE(decoder.Feed(stream.substr(0, cut)).ok());
    std::vector<WatchEvent> events = Drain(decoder, status);
    ASSERT_TRUE(decoder.Feed(stream.substr(cut)).ok());
    for (WatchEvent& event : Drain(decoder, status)) events.push_back(std::move(event));
    ASSERT_EQ(events.size(), 2u) << cut;
    EXPECT_EQ(events[0].type, WatchEvent::Type::kAdded);
    EXPECT_EQ(events[0].object["x"], "é😀");
    EXPECT_EQ(events[1].type, WatchEvent::Type::kBookmark);
    EXPECT_TRUE(decoder.Finish().ok());
  }
}

TEST(WatchDecoderTest, AnErrorEventIsItsStatusAndFinal) {
  WatchDecoder decoder;
  absl::Status status;
  ASSERT_TRUE(decoder.Feed(std::string(kAdded) + kGone + kAdded).ok());
  EXPECT_EQ(Drain(decoder, status).size(), 1u);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReasonOf(status), Reason::kExpired);
  EXPECT_EQ(status.message(), "too old resource version: 1 (7)");
  EXPECT_FALSE(decoder.Next().ok());
  EXPECT_FALSE(decoder.Feed("x").ok());
}

TEST(WatchDecoderTest, AnErrorWithoutAReasonGoesByItsCode) {
  WatchDecoder decoder;
  ASSERT_TRUE(decoder.Feed("{\"type\":\"ERROR\",\"object\":{\"code\":429}}\n").ok());
  EXPECT_EQ(ReasonOf(decoder.Next().status()), Reason::kTooManyRequests);
}

TEST(WatchDecoderTest, AMalformedEventIsDataLoss) {
  for (const char* line : {"nonsense", "[]", "{}", R"({"type":"ADDED"})",
                           R"({"type":"ADDED","object":[]})", R"({"type":"RENAMED","object":{}})",
                           R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})",
                           R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})",
                           R"({"type":7,"object":{"metadata":{"name":"a","resourceVersion":"1"}}})",
                           "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\","
                           "\"resourceVersion\":\"1\"}}}"}) {
    WatchDecoder decoder;
    ASSERT_TRUE(decoder.Feed(std::string(line) + "\n").ok());
    EXPECT_EQ(decoder.Next().status().code(), absl::StatusCode::kDataLoss) << line;
  }
}

TEST(WatchDecoderTest, AnEventHasALimit) {
  WatchDecoder decoder(/*max_event_bytes=*/100);
  EXPECT_TRUE(decoder.Feed(std::string(60, ' ')).ok());
  EXPECT_EQ(decoder.Feed(std::string(60, ' ')).code(), absl::StatusCode::kResourceExhausted);
  WatchDecoder whole(/*max_event_bytes=*/10);
  EXPECT_TRUE(whole.Feed(kAdded).ok());
  EXPECT_EQ(whole.Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(WatchDecoderTest, ManyEventsKeepTheBufferSmall) {
  WatchDecoder decoder(/*max_event_bytes=*/200);
  absl::Status status;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(decoder.Feed(kAdded).ok());
    ASSERT_EQ(Drain(decoder, status).size(), 1u);
  }
}

TEST(WatchDecoderTest, AStreamCutInsideAnEventIsDataLoss) {
  WatchDecoder decoder;
  ASSERT_TRUE(decoder.Feed(std::string(kAdded).substr(0, 20)).ok());
  EXPECT_FALSE((*decoder.Next()).has_value());
  EXPECT_EQ(decoder.Finish().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace muster::kube
