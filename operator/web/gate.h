#ifndef MUSTER_OPERATOR_WEB_GATE_H_
#define MUSTER_OPERATOR_WEB_GATE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "operator/web/http/http_message.h"

namespace muster::control {

// Decides whether a request is allowed, before any page is made. Errors are kUnauthenticated (401),
// kPermissionDenied (403), kResourceExhausted (429) and kUnavailable (503). Thread-safe; may block.
using Gate = std::function<absl::Status(const HttpRequest& request)>;

// Returns the token of the header "Authorization: Bearer TOKEN"; empty without one.
std::string BearerToken(const HttpRequest& request);

// Returns 256 random bits as text.
std::string NewToken();

// A gate for a server on one machine. It admits requests that carry `token`, whose Host is a name
// of this machine, and whose Origin, if any, is the same. This prevents CSRF and DNS rebinding:
// requests that a page of another site makes a browser send here.
Gate TokenGate(std::string token);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_GATE_H_
