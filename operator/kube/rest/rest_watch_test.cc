#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/http/tls_test_server.h"
#include "operator/kube/proto/wire_writer.h"
#include "operator/kube/rest/rest_api_fixture.h"

// Tests watches of a server that misbehaves as a real one cannot be made to.
namespace muster::kube {
namespace {

std::string Event(const std::string& name, int version) {
  return absl::StrCat(R"({"type":"ADDED","object":{"metadata":{"name":")", name,
                      R"(","resourceVersion":")", version, R"("}}})", "\n");
}

class RestWatchTest : public RestApiTest {
 protected:
  std::unique_ptr<Watcher> Watch(const WatchOptions& options = {}) {
    auto watcher = api_->Watch(kPods, options);
    EXPECT_TRUE(watcher.ok()) << watcher.status();
    return watcher.ok() ? *std::move(watcher) : nullptr;
  }
  // Answers a watch with these chunks, then waits for the client to leave or ends the stream.
  void StartStream(const std::vector<std::string>& chunks, bool hold) {
    Start([=](const std::string&, Peer& peer) {
      peer.Write(TlsTestServer::kChunked);
      for (const std::string& chunk : chunks) peer.Chunk(chunk);
      if (hold) peer.WaitForClose();
      if (!hold) peer.Write("0\r\n\r\n");
      return false;
    });
  }
};

TEST_F(RestWatchTest, EventsThenTheServersEnd) {
  StartStream({Event("a", 1) + Event("b", 2)}, /*hold=*/false);
  const auto watcher = Watch();
  const auto first = watcher->Next(kPatience);
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ(NameOf((*first)->object), "a");
  EXPECT_EQ(StringAt((*first)->object, {"kind"}), "Pod");
  EXPECT_EQ(NameOf((*watcher->Next(kPatience))->object), "b");
  EXPECT_EQ(ReasonOf(watcher->Next(kPatience).status()), Reason::kWatchClosed);
  EXPECT_EQ(ReasonOf(watcher->Next(kPatience).status()), Reason::kWatchClosed);
}

TEST_F(RestWatchTest, EventsInProtobuf) {
  const std::string stream = WireEvent("ADDED", WireEnvelope("Pod", WirePod("\xc3\xa9", "1"))) +
                             WireEvent("DELETED", WireEnvelope("Pod", WirePod("b", "2")));
  Start([&](const std::string& request, Peer& peer) {
    EXPECT_NE(request.find("Accept: application/vnd.kubernetes.protobuf"), std::string::npos);
    peer.Write(
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf;stream=watch\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    for (const char byte : stream) peer.Chunk(std::string(1, byte));
    peer.Write("0\r\n\r\n");
    return false;
  });
  const auto watcher = api_->Watch(kPods, {}, {.fields = &IdentityFields()});
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  const auto first = (*watcher)->Next(kPatience);
  ASSERT_TRUE(first.ok() && first->has_value()) << first.status();
  EXPECT_EQ(NameOf((*first)->object), "\xc3\xa9");
  EXPECT_EQ(StringAt((*first)->object, {"kind"}), "Pod");
  EXPECT_EQ((*(*watcher)->Next(kPatience))->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(ReasonOf((*watcher)->Next(kPatience).status()), Reason::kWatchClosed);
}

TEST_F(RestWatchTest, ACutInsideACharacterIsJoined) {
  const std::string event = Event("\xc3\xa9", 1);
  const size_t middle = event.find('\xa9');
  StartStream({event.substr(0, middle), event.substr(middle)}, /*hold=*/true);
  const auto got = Watch()->Next(kPatience);
  ASSERT_TRUE(got.ok() && got->has_value()) << got.status();
  EXPECT_EQ(NameOf((*got)->object), "\xc3\xa9");
}

TEST_F(RestWatchTest, AStreamCutInsideAnEventIsGoneOnWithFromTheLastVersion) {
  const std::string event = Event("\xc3\xa9", 2);
  StartStream({Event("a", 1), event.substr(0, event.find('\xa9'))}, /*hold=*/false);
  const auto watcher = Watch();
  ASSERT_TRUE(watcher->Next(kPatience).ok());
  const absl::Status status = watcher->Next(kPatience).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the watch ended inside an event");
}

TEST_F(RestWatchTest, GarbageInAStream) {
  StartStream({"nonsense\n"}, /*hold=*/true);
  EXPECT_EQ(Watch()->Next(kPatience).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RestWatchTest, GoneIsExpiredInTheAnswerAndInTheStream) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(410, StatusBody(410, "Expired", "too old"));
  });
  const absl::Status status = api_->Watch(kPods, {}).status();
  EXPECT_EQ(ReasonOf(status), Reason::kExpired);
  EXPECT_EQ(status.message(), "too old");
  StartStream({R"({"type":"ERROR","object":)" + StatusBody(410, "Gone", "too old") + "}\n"},
              /*hold=*/true);
  EXPECT_EQ(ReasonOf(Watch()->Next(kPatience).status()), Reason::kExpired);
}

TEST_F(RestWatchTest, ASilentWatchEnds) {
  config_.watch_silence = absl::Seconds(3);  // the event before it takes less
  StartStream({Event("a", 1)}, /*hold=*/true);
  const auto watcher = Watch();
  ASSERT_TRUE(watcher->Next(kPatience).ok());
  const absl::Status status = watcher->Next(kPatience).status();
  EXPECT_EQ(ReasonOf(status), Reason::kServiceUnavailable);
  EXPECT_EQ(status.message(), server_->Url() + ": a watch received no data for 3s");
}

TEST_F(RestWatchTest, AServerThatDoesNotAnswerAWatch) {
  Start([](const std::string&, Peer& peer) {
    peer.WaitForClose();
    return false;
  });
  EXPECT_EQ(ReasonOf(api_->Watch(kPods, {}, {.timeout = absl::Seconds(2)}).status()),
            Reason::kTimeout);
}

TEST_F(RestWatchTest, AWaitingWatchIsStoppedFromAnotherThread) {
  StartStream({}, /*hold=*/true);
  const auto watcher = Watch();
  std::thread stopper([&] { watcher->Stop(); });
  EXPECT_EQ(watcher->Next(absl::InfiniteDuration()).status().code(), absl::StatusCode::kCancelled);
  stopper.join();
}

TEST_F(RestWatchTest, ASlowConsumerStopsTheServerNotTheMemory) {
  config_.watch_buffer_bytes = 64 << 10;
  std::atomic<int64_t> written{0};
  std::atomic<bool> stuck{false};
  const std::string padding(10'000, 'p');
  constexpr int kEvents = 5000;  // 50 MB: far more than all buffers on the way
  Start([&](const std::string&, Peer& peer) {
    peer.Write(TlsTestServer::kChunked);
    for (int i = 1; i <= kEvents; ++i) {
      const std::string event =
          absl::StrCat(R"({"type":"ADDED","object":{"p":")", padding,
                       R"(","metadata":{"name":"a","resourceVersion":")", i, R"("}}})", "\n");
      if (!peer.Chunk(event)) break;
      written += static_cast<int64_t>(event.size());
    }
    stuck = true;
    peer.WaitForClose();
    return false;
  });
  const auto watcher = Watch();
  // While nothing is read, the server cannot write more than the buffers hold, and stalls.
  Mutex mu;
  CondVar never;
  MutexLock lock(mu);
  int64_t before = -1;
  while (written != before) {
    before = written;
    never.WaitFor(mu, absl::Milliseconds(300));
  }
  EXPECT_FALSE(stuck);
  EXPECT_LT(written, 20'000'000);
  // All events arrive in the end.
  int last = 0;
  while (last < kEvents) {
    const auto event = watcher->Next(kPatience);
    ASSERT_TRUE(event.ok() && event->has_value()) << event.status();
    last = std::stoi(ResourceVersionOf((*event)->object));
  }
}

}  // namespace
}  // namespace muster::kube
