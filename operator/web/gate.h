#ifndef MUSTER_OPERATOR_WEB_GATE_H_
#define MUSTER_OPERATOR_WEB_GATE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "operator/web/http/http_message.h"

namespace muster::control {

// Who may ask what, before any page is made. kUnauthenticated (401), kPermissionDenied (403),
// kResourceExhausted (429), kUnavailable (503). Thread-safe; may block.
using Gate = std::function<absl::Status(const HttpRequest& request)>;

// The token of "Authorization: Bearer TOKEN"; empty: there is none.
std::string BearerToken(const HttpRequest& request);

// 256 random bits as text.
std::string NewToken();

// For one machine: whoever has `token`, from a page of no other site, under a name of this machine.
// A browser that was sent here by another site's name says that name as the Host.
Gate TokenGate(std::string token);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_GATE_H_
