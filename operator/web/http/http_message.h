#ifndef MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_
#define MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::control {

// A request, whole and checked, with the few headers that are read here. Pure values.
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
  std::string peer;  // the other end's address without its port; "unix" over a socket of this user

  bool Has(const std::string& parameter) const { return parameters.contains(parameter); }
  std::string Parameter(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// An error as the JSON paths have it: {"error": "...", "code": N}.
HttpResponse ErrorResponse(int status, absl::string_view message);

// The bytes on the wire. `head_only`: without the body, whose length is told all the same.
std::string EncodeResponse(const HttpResponse& response, bool keep_alive, bool head_only);

// Fills path and parameters from a request's target ("/a%20b?c=d"). False when it is malformed: not
// absolute, a bad escape, a control character.
bool ReadTarget(std::string_view target, HttpRequest& request);

// "/api/v1/jobs" -> {"api", "v1", "jobs"}; a slash at the end makes an empty last one.
std::vector<std::string> SegmentsOf(const std::string& path);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_HTTP_MESSAGE_H_
