#ifndef MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_
#define MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::control {

// A complete and validated request, with the few headers that are used here. Pure values.
struct HttpRequest {
  std::string method;  // GET, HEAD or POST
  std::string path;    // decoded, begins with a slash
  std::map<std::string, std::string> parameters;
  std::string host;
  std::string origin;
  std::string accept;
  std::string authorization;
  std::string body;
  bool keep_alive = false;
  std::string peer;  // the peer's address without its port; "unix" over this user's socket

  bool Has(const std::string& parameter) const { return parameters.contains(parameter); }
  std::string Parameter(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Returns an error as the JSON paths report it: {"error": "...", "code": N}.
HttpResponse ErrorResponse(int status, absl::string_view message);

// Returns the response in wire format. `head_only` leaves out the body but still reports its
// length.
std::string EncodeResponse(const HttpResponse& response, bool keep_alive, bool head_only);

// Fills path and parameters from a request's target ("/a%20b?c=d"). Returns false if it is
// malformed: not absolute, with a bad escape or a control character.
bool ReadTarget(std::string_view target, HttpRequest& request);

// Splits "/api/v1/jobs" into {"api", "v1", "jobs"}. A trailing slash adds an empty segment.
std::vector<std::string> SegmentsOf(const std::string& path);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_
