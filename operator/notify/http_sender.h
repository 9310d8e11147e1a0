#ifndef MUSTER_OPERATOR_NOTIFY_HTTP_SENDER_H_
#define MUSTER_OPERATOR_NOTIFY_HTTP_SENDER_H_

#include <string>

#include "absl/status/status.h"
#include "operator/notify/receivers.h"

namespace muster::control {

// The way to receivers.
class AlertSender {
 public:
  virtual ~AlertSender() = default;
  // Posts JSON to the receiver. OK: it answered that it took it. An error does not show the
  // receiver's URL. Thread-safe.
  virtual absl::Status Post(const Receiver& receiver, const std::string& body) = 0;
};

// Sends over HTTP, each request on a connection of its own. Servers with https:// must have a
// certificate for their host from an authority that is trusted. Redirects are not followed. The
// file with the authorization is read for each request, so that it may change.
class HttpSender final : public AlertSender {
 public:
  absl::Status Post(const Receiver& receiver, const std::string& body) override;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_HTTP_SENDER_H_
