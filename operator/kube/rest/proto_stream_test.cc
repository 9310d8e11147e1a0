#include "operator/kube/rest/proto_stream.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/proto/wire_writer.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/event_decoder.h"
#include "operator/kube/rest/list_reader.h"

namespace muster::kube {
namespace {

std::unique_ptr<ProtoPlan> Plan() {
  return ProtoPlan::Make(FieldMask({"spec.nodeName"}).root(), *ProtoMessageOf(kPods));
}

std::string Pod(const std::string& name, const std::string& version) {
  return WirePod(name, version, WireBytes(2, WireBytes(10, "n-" + name)));
}

std::string Event(const std::string& type, const std::string& name) {
  return WireEvent(type, WireEnvelope("Pod", Pod(name, "5")));
}

std::string List(int count, const std::string& resume = "") {
  std::string list = WireBytes(1, WireBytes(1, "") + WireBytes(2, "77") + WireBytes(3, resume));
  for (int i = 0; i < count; ++i) list += WireBytes(2, Pod("p" + std::to_string(i), "5"));
  return WireEnvelope("PodList", list);
}

// Decodes a stream that arrives in pieces of `piece` bytes.
struct Decoded {
  std::vector<std::string> events;
  absl::Status end;
};
Decoded DecodeWatch(const std::string& stream, size_t piece, size_t max = kMaxEventBytes) {
  ProtoWatchDecoder decoder(Plan(), max);
  Decoded decoded;
  for (size_t at = 0; at < stream.size() && decoded.end.ok(); at += piece) {
    decoded.end = decoder.Feed(stream.substr(at, piece));
    while (decoded.end.ok()) {
      const auto event = decoder.Next();
      decoded.end = event.status();
      if (!event.ok() || !event->has_value()) break;
      decoded.events.push_back(DumpJson((**event).object));
    }
  }
  if (decoded.end.ok()) decoded.end = decoder.Finish();
  return decoded;
}

TEST(ProtoWatchTest, EveryCutGivesTheSameEvents) {
  const std::string stream =
      Event("ADDED", "a") + Event("MODIFIED", "\xc3\xa9") + Event("DELETED", "a") +
      WireEvent("BOOKMARK",
                WireEnvelope("Pod",
                             WireBytes(1, WireBytes(6, "9") +
                                              WireEntry(12, "k8s.io/initial-events-end", "true"))));
  const Decoded whole = DecodeWatch(stream, stream.size());
  ASSERT_TRUE(whole.end.ok()) << whole.end;
  ASSERT_EQ(whole.events.size(), 4u);
  EXPECT_EQ(
      whole.events[1],
      R"({"metadata":{"name":"é","namespace":"ns","resourceVersion":"5"},"spec":{"nodeName":"n-é"}})");
  EXPECT_EQ(
      whole.events[3],
      R"({"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}})");
  for (size_t piece = 1; piece < stream.size(); ++piece) {
    EXPECT_EQ(DecodeWatch(stream, piece).events, whole.events) << piece;
  }
}

TEST(ProtoWatchTest, AnErrorEventIsItsStatusAndFinal) {
  const std::string gone =
      WireBytes(3, "too old resource version: 1 (7)") + WireBytes(4, "Expired") + WireInt(6, 410);
  const Decoded decoded = DecodeWatch(
      Event("ADDED", "a") + WireEvent("ERROR", WireEnvelope("Status", gone)) + Event("ADDED", "b"),
      1000);
  EXPECT_EQ(decoded.events.size(), 1u);
  EXPECT_EQ(ReasonOf(decoded.end), Reason::kExpired);
  EXPECT_EQ(decoded.end.message(), "too old resource version: 1 (7)");
}

TEST(ProtoWatchTest, AMalformedEventIsDataLoss) {
  for (const std::string& stream :
       {Event("RENAMED", "a"), Event("ADDED", ""), WireEvent("ADDED", "{}"), WireEvent("ADDED", ""),
        WireEvent("ADDED",
                  WireEnvelope("Pod", WireBytes(1, WireBytes(1, "a")))),  // without a version
        WireEvent("ADDED", WireEnvelope("Pod", WireBytes(2, WireBytes(10, "\xff")))),
        std::string("\0\0\0\2\x0a\x7f", 6), std::string("\0\0\0\0", 4)}) {
    EXPECT_EQ(DecodeWatch(stream, 1000).end.code(), absl::StatusCode::kDataLoss) << stream.size();
  }
}

TEST(ProtoWatchTest, AnEventHasALimit) {
  const Decoded huge = DecodeWatch(std::string("\x7f\xff\xff\xff", 4), 4);
  EXPECT_EQ(huge.end.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(DecodeWatch(Event("ADDED", "a"), 1000, 10).end.code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ProtoWatchTest, AStreamCutInsideAnEventIsDataLoss) {
  const std::string stream = Event("ADDED", "a");
  for (size_t size = 1; size < stream.size(); ++size) {
    EXPECT_EQ(DecodeWatch(stream.substr(0, size), 1000).end.code(), absl::StatusCode::kDataLoss)
        << size;
  }
}

struct DecodedList {
  std::vector<std::string> names;
  absl::StatusOr<Json> meta;
};
DecodedList DecodeList(const std::string& body, size_t piece, bool asked = true) {
  DecodedList decoded;
  ListReader reader(asked ? Plan() : nullptr,
                    [&](Json item) { decoded.names.push_back(NameOf(item)); });
  absl::Status fed;
  for (size_t at = 0; at < body.size() && fed.ok(); at += piece)
    fed = reader.Feed(body.substr(at, piece), 1 << 20);
  decoded.meta = fed.ok() ? reader.Finish() : fed;
  return decoded;
}

TEST(ProtoListTest, EveryCutGivesTheSameItems) {
  const std::string body = List(3, "next");
  for (size_t piece = 1; piece <= body.size(); ++piece) {
    const DecodedList list = DecodeList(body, piece);
    ASSERT_TRUE(list.meta.ok()) << piece << " " << list.meta.status();
    EXPECT_EQ(list.names, (std::vector<std::string>{"p0", "p1", "p2"})) << piece;
    EXPECT_EQ(*list.meta, (Json{{"resourceVersion", "77"}, {"continue", "next"}}));
  }
}

TEST(ProtoListTest, AnEmptyListHasItsVersion) {
  EXPECT_EQ((*DecodeList(List(0), 7).meta)["resourceVersion"], "77");
}

TEST(ProtoListTest, ACutListIsDataLossWhereverItIsCut) {
  const std::string body = List(2);
  const size_t around = WireBytes(3, "").size() + WireBytes(4, "").size();
  for (size_t size = 0; size < body.size() - around; ++size) {
    EXPECT_EQ(DecodeList(body.substr(0, size), 5).meta.status().code(), absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(ProtoListTest, DamageIsDataLoss) {
  const std::string two = List(1) + WireBytes(2, "x");
  const std::string odd =
      WireEnvelope("PodList", WireBytes(2, Pod("a", "5")) + "\x0a");  // ends inside a field
  const std::string item = WireEnvelope("PodList", WireBytes(2, WireInt(1, 1)));
  for (const std::string& body :
       {two, odd, item, std::string("k8s\0\x13", 5), std::string("k8s\0", 4)}) {
    EXPECT_EQ(DecodeList(body, 3).meta.status().code(), absl::StatusCode::kDataLoss) << body.size();
  }
}

// An answer that is not a list must not count as an empty one.
TEST(ProtoListTest, AnotherKindIsNoList) {
  const std::string status = WireEnvelope("Status", WireBytes(1, "") + WireBytes(2, "Success"));
  EXPECT_EQ(DecodeList(status, 5).meta.status().message(), "a damaged list: it is a \"Status\"");
  const std::string bare = std::string("k8s\0", 4) + WireBytes(2, "");
  EXPECT_EQ(DecodeList(bare, 5).meta.status().code(), absl::StatusCode::kDataLoss);
}

TEST(ProtoListTest, AnItemHasALimit) {
  const std::string head =
      WireEnvelope("PodList", "").substr(0, WireEnvelope("PodList", "").size() - 6) +
      WireVarint(2 << 3 | 2) + WireVarint(uint64_t{1} << 40) + WireVarint(2 << 3 | 2) +
      WireVarint(uint64_t{1} << 39);
  EXPECT_EQ(DecodeList(head, 100).meta.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ProtoListTest, AServerMayAnswerInJsonAllTheSame) {
  const std::string body =
      R"({"metadata":{"resourceVersion":"8"},"items":[{"metadata":{"name":"a"}}]})";
  for (const bool asked : {true, false}) {
    const DecodedList list = DecodeList(body, 3, asked);
    ASSERT_TRUE(list.meta.ok()) << list.meta.status();
    EXPECT_EQ(list.names, (std::vector<std::string>{"a"}));
    EXPECT_EQ(StringAt(*list.meta, {"resourceVersion"}), "8");
  }
}

TEST(ProtoListTest, ProtobufThatWasNotAskedForIsNoList) {
  EXPECT_FALSE(DecodeList(List(1), 100, /*asked=*/false).meta.ok());
}

}  // namespace
}  // namespace muster::kube
