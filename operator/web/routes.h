#ifndef MUSTER_OPERATOR_WEB_ROUTES_H_
#define MUSTER_OPERATOR_WEB_ROUTES_H_

#include <optional>

#include "operator/web/http/http_message.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Selects whether requests that change something are served.
enum class Commands {
  kAnswered,
  kRefused,  // on a cluster the caller writes the TrainingJob through the API server instead
};

// Answers any request (docs/http-api.md). Thread-safe.
HttpResponse AnswerRequest(const WebDeps& deps, Commands commands, const HttpRequest& request);

// Answers a health check. Returns nothing for any other path.
std::optional<HttpResponse> AnswerHealth(const WebDeps& deps, const HttpRequest& request);

// Converts the error of a page or a gate to an answer.
HttpResponse AnswerError(const absl::Status& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_ROUTES_H_
