#include "operator/reconcile/controller.h"

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

const absl::Time kSince = absl::FromUnixSeconds(1'700'000'000);

void Add(v1alpha1::TrainingJob& job, const std::string& name, const std::string& receiver,
         bool fires) {
  v1alpha1::AlertRule& rule = *job.mutable_spec()->add_alerts();
  rule.set_name(name);
  rule.set_action(name == "stall" ? "Suspend" : "Notify");
  if (!receiver.empty()) rule.set_receiver(receiver);
  if (!fires) return;
  v1alpha1::AlertStatus& alert = *job.mutable_status()->add_alerts();
  alert.set_name(name);
  alert.set_kind("Kind");
  alert.set_message("why");
  alert.set_since(FormatWall(kSince));
}

TEST(AlertsByReceiverTest, EachAlertThatFiresGoesToTheReceiverOfItsRule) {
  v1alpha1::TrainingJob job;
  Add(job, "spike", "chat", true);
  Add(job, "stall", "chat", true);
  Add(job, "slow", "mail", false);
  Add(job, "flat", "", true);
  const Notifier::ByReceiver alerts = AlertsByReceiver(job.spec(), job.status());
  ASSERT_EQ(alerts.size(), 1u);
  ASSERT_EQ(alerts.at("chat").size(), 2u);
  EXPECT_EQ(alerts.at("chat")[0], (JobAlert{"spike", "Kind", "why", false, kSince}));
  EXPECT_EQ(alerts.at("chat")[1], (JobAlert{"stall", "Kind", "why", true, kSince}));
}

}  // namespace
}  // namespace muster::control
