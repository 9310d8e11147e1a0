#include "operator/notify/notifier.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/notify/fake_receiver.h"
#include "operator/notify/http_sender.h"
#include "operator/notify/notification_observer.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const AlertedJob kJob = {"team", "gpt", "uid-1"};
const absl::Time kWall = absl::FromUnixSeconds(1'700'000'000);
const JobAlert kSpike = {"spike", "LossSpike", "it is high", false, kWall};

Receiver Webhook(const std::string& name, const std::string& origin) {
  Receiver receiver;
  receiver.name = name;
  receiver.origin = origin;
  receiver.path = "/hook";
  return receiver;
}

TEST(NotifierTest, AWebhookIsToldTheBeginAndTheEndByItsOwnThread) {
  FakeReceiver server;
  ManualClock clock;
  HttpSender sender;
  Notifier notifier({Webhook("chat", server.origin())}, sender, clock);
  std::thread thread([&] {
    while (notifier.WaitAndRun(0)) {
    }
  });
  notifier.Set(kJob, {{"chat", {kSpike}}, {"nobody", {kSpike}}});
  const httplib::Request begin = server.Request(0);
  EXPECT_EQ(begin.path, "/hook");
  EXPECT_EQ(begin.get_header_value("Content-Type"), "application/json");
  const absl::StatusOr<Json> json = ParseJson(begin.body);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["status"], "firing");
  EXPECT_EQ((*json)["alerts"][0]["labels"]["alertname"], "TrainingJobLossSpike");
  notifier.Set(kJob, {});
  EXPECT_THAT(server.Request(1).body, HasSubstr(R"("status":"resolved")"));
  notifier.Shutdown();
  thread.join();
}

TEST(NotifierTest, AnAlertmanagerIsToldAgainWhileTheAlertFires) {
  FakeReceiver server;
  ManualClock clock;
  HttpSender sender;
  Receiver receiver = Webhook("mail", server.origin());
  receiver.kind = Receiver::Kind::kAlertmanager;
  receiver.path = "/api/v2/alerts";
  Notifier notifier({receiver}, sender, clock);
  notifier.Set(kJob, {{"mail", {kSpike}}});
  EXPECT_TRUE(notifier.RunOnce(0));
  EXPECT_FALSE(notifier.RunOnce(0));
  clock.Advance(Notifier::kRepeat);
  EXPECT_TRUE(notifier.RunOnce(0));
  const absl::StatusOr<Json> first = ParseJson(server.Request(0).body);
  const absl::StatusOr<Json> again = ParseJson(server.Request(1).body);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ((*first)[0]["labels"], (*again)[0]["labels"]);
  EXPECT_EQ((*first)[0]["startsAt"], (*again)[0]["startsAt"]);
  EXPECT_LT((*first)[0]["endsAt"], (*again)[0]["endsAt"]);
  EXPECT_EQ(server.Request(1).path, "/api/v2/alerts");
}

TEST(NotifierTest, AReceiverThatRefusesIsTriedAgain) {
  FakeReceiver server;
  ManualClock clock;
  HttpSender sender;
  Notifier notifier({Webhook("chat", server.origin())}, sender, clock);
  notifier.Set(kJob, {{"chat", {kSpike}}});
  server.Answer(503);
  EXPECT_TRUE(notifier.RunOnce(0));
  EXPECT_FALSE(notifier.RunOnce(0)) << "not at once";
  server.Answer(204);
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(notifier.RunOnce(0));
  clock.Advance(absl::Hours(1));
  EXPECT_FALSE(notifier.RunOnce(0));
  EXPECT_EQ(server.Request(0).body, server.Request(1).body);
}

class Recorder final : public NotificationObserver {
 public:
  void ReceiverAdded(const std::string& receiver) override { seen.push_back(receiver); }
  void Notified(const std::string& receiver, bool taken) override {
    seen.push_back(absl::StrCat(receiver, taken ? " took it" : " did not take it"));
  }
  std::vector<std::string> seen;
};

TEST(NotifierTest, EachRequestIsReportedWithTheReceiversNameAlone) {
  FakeReceiver server;
  ManualClock clock;
  HttpSender sender;
  Notifier notifier({Webhook("chat", server.origin()), Webhook("idle", server.origin())}, sender,
                    clock);
  Recorder recorder;
  notifier.Observe(recorder);
  notifier.Set(kJob, {{"chat", {kSpike}}});
  server.Answer(503);
  EXPECT_TRUE(notifier.RunOnce(0));
  server.Answer(204);
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(notifier.RunOnce(0));
  EXPECT_FALSE(notifier.RunOnce(0)) << "nothing is due, so nothing is reported";
  EXPECT_FALSE(notifier.RunOnce(1));
  EXPECT_THAT(recorder.seen, ElementsAre("chat", "idle", "chat did not take it", "chat took it"));
}

TEST(HttpSenderTest, TheAuthorizationIsReadForEachRequest) {
  FakeReceiver server;
  HttpSender sender;
  Receiver receiver = Webhook("chat", server.origin());
  receiver.authorization_file = testing::TempDir() + "/authorization";
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), receiver.authorization_file, "Bearer a\n").ok());
  EXPECT_TRUE(sender.Post(receiver, "{}").ok());
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), receiver.authorization_file, "Bearer b").ok());
  EXPECT_TRUE(sender.Post(receiver, "{}").ok());
  EXPECT_EQ(server.Request(0).get_header_value("Authorization"), "Bearer a");
  EXPECT_EQ(server.Request(1).get_header_value("Authorization"), "Bearer b");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), receiver.authorization_file, "a\nX: b").ok());
  EXPECT_THAT(std::string(sender.Post(receiver, "{}").message()), HasSubstr("want one line"));
}

TEST(HttpSenderTest, AnErrorDoesNotShowTheUrl) {
  HttpSender sender;
  std::string closed;
  {
    FakeReceiver server;
    closed = server.origin();
  }
  Receiver receiver = Webhook("chat", closed);
  receiver.path = "/secret";
  const std::string error(sender.Post(receiver, "{}").message());
  EXPECT_THAT(error, HasSubstr("the request failed: "));
  EXPECT_THAT(error, Not(HasSubstr("127.0.0.1")));
  FakeReceiver server;
  server.Answer(403);
  receiver.origin = server.origin();
  EXPECT_EQ(sender.Post(receiver, "{}").message(), "it answered with status 403");
}

TEST(HttpSenderTest, AnAnswerWithoutEndIsNotRead) {
  FakeReceiver server;
  server.Answer(200, size_t{1} << 20);
  HttpSender sender;
  EXPECT_FALSE(sender.Post(Webhook("chat", server.origin()), "{}").ok());
}

TEST(HttpSenderTest, AServerThatDoesNotSpeakTlsIsNotTrusted) {
  FakeReceiver server;
  HttpSender sender;
  Receiver receiver = Webhook("chat", server.origin());
  receiver.origin.replace(0, 4, "https");
  EXPECT_FALSE(sender.Post(receiver, "{}").ok());
}

}  // namespace
}  // namespace muster::control
