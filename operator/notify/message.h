#ifndef MUSTER_OPERATOR_NOTIFY_MESSAGE_H_
#define MUSTER_OPERATOR_NOTIFY_MESSAGE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/notify/job_alert.h"

// The bodies of requests to receivers. Pure.
namespace muster::control {

// Returns the JSON that Alertmanager sends to a webhook (version 4), so that programs made for that
// understand it. The group of alerts is the job.
Json WebhookMessage(const std::string& receiver, const AlertedJob& job,
                    const std::vector<AlertNews>& news);

// Returns the body of POST /api/v2/alerts. An alert that fires ends by itself at `valid_until`
// (wall), unless it is sent again before.
Json AlertmanagerMessage(const std::string& receiver, const AlertedJob& job,
                         const std::vector<AlertNews>& news, absl::Time valid_until);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_MESSAGE_H_
