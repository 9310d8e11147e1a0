#ifndef MUSTER_OPERATOR_WEB_ROUTES_H_
#define MUSTER_OPERATOR_WEB_ROUTES_H_

#include <optional>

#include "operator/web/http/http_message.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Whether requests that change something are answered.
enum class Commands {
  kAnswered,
  kRefused,  // on a cluster they are writes of the TrainingJob by the caller, at the API server
};

// The answer to any request, docs/http-api.md. Thread-safe.
HttpResponse AnswerRequest(const WebDeps& deps, Commands commands, const HttpRequest& request);

// Of health alone; nothing: another path.
std::optional<HttpResponse> AnswerHealth(const WebDeps& deps, const HttpRequest& request);

// An error of a page or a gate as an answer.
HttpResponse AnswerError(const absl::Status& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_ROUTES_H_
