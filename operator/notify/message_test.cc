#include "operator/notify/message.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

const AlertedJob kJob = {"team", "gpt", "uid"};
const absl::Time kSince = absl::FromUnixSeconds(1'700'000'000);
const JobAlert kSpike = {"spike", "LossSpike", "the loss of step 7 is not finite", false, kSince};
const JobAlert kStall = {"stall", "Stalled", "no step was reported for 10m", true, kSince};

Json Labels(const std::string& kind, const std::string& name, const std::string& severity) {
  return {{"namespace", "team"}, {"job", "gpt"},    {"training_job", "team/gpt"},
          {"alert", name},       {"receiver", "r"}, {"alertname", "TrainingJob" + kind},
          {"severity", severity}};
}

TEST(WebhookMessageTest, HasTheFormOfAlertmanagersWebhook) {
  Json message = WebhookMessage(
      "r", kJob, {{kSpike}, {kStall, kSince + absl::Minutes(2) + absl::Milliseconds(5)}});
  for (Json& alert : message["alerts"]) {
    EXPECT_EQ(alert["fingerprint"].get<std::string>().size(), 16u);
    alert.erase("fingerprint");
  }
  const Json want = {
      {"version", "4"},
      {"groupKey", "{}:{job=\"gpt\", namespace=\"team\"}"},
      {"truncatedAlerts", 0},
      {"status", "firing"},
      {"receiver", "r"},
      {"groupLabels", {{"namespace", "team"}, {"job", "gpt"}}},
      {"commonLabels",
       {{"namespace", "team"}, {"job", "gpt"}, {"training_job", "team/gpt"}, {"receiver", "r"}}},
      {"commonAnnotations", Json::object()},
      {"externalURL", ""},
      {"alerts",
       {{{"status", "firing"},
         {"labels", Labels("LossSpike", "spike", "warning")},
         {"annotations",
          {{"summary", "Alert spike of job team/gpt"},
           {"description", "the loss of step 7 is not finite"}}},
         {"startsAt", "2023-11-14T22:13:20.000Z"},
         {"endsAt", "0001-01-01T00:00:00Z"},
         {"generatorURL", ""}},
        {{"status", "resolved"},
         {"labels", Labels("Stalled", "stall", "critical")},
         {"annotations",
          {{"summary", "Alert stall of job team/gpt, which suspends it"},
           {"description", "no step was reported for 10m"}}},
         {"startsAt", "2023-11-14T22:13:20.000Z"},
         {"endsAt", "2023-11-14T22:15:20.005Z"},
         {"generatorURL", ""}}}},
  };
  EXPECT_EQ(message, want) << message.dump(1);
}

TEST(WebhookMessageTest, IsResolvedOnceNoneFires) {
  const Json message = WebhookMessage("r", kJob, {{kStall, kSince + absl::Minutes(2)}});
  EXPECT_EQ(message["status"], "resolved");
  EXPECT_EQ(message["commonLabels"], Labels("Stalled", "stall", "critical"));
}

TEST(AlertmanagerMessageTest, AnAlertThatFiresEndsByItself) {
  const Json message = AlertmanagerMessage(
      "r", kJob, {{kSpike}, {kStall, kSince + absl::Minutes(2)}}, kSince + absl::Minutes(4));
  ASSERT_EQ(message.size(), 2u);
  EXPECT_EQ(message[0]["labels"], Labels("LossSpike", "spike", "warning"));
  EXPECT_EQ(message[0]["startsAt"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(message[0]["endsAt"], "2023-11-14T22:17:20.000Z");
  EXPECT_EQ(message[0]["annotations"]["description"], "the loss of step 7 is not finite");
  EXPECT_EQ(message[1]["endsAt"], "2023-11-14T22:15:20.000Z");
}

}  // namespace
}  // namespace muster::control
