#ifndef MUSTER_OPERATOR_KUBE_REST_REST_TRANSPORT_H_
#define MUSTER_OPERATOR_KUBE_REST_REST_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "httplib.h"
#include "operator/kube/credentials/credentials.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/http/connection_pool.h"
#include "operator/kube/http/rate_limiter.h"
#include "operator/kube/http/server_url.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/rest/server_warnings.h"

namespace muster::kube {

struct RestRequest {
  std::string_view verb;      // for the observer
  std::string_view resource;  // for the observer: the plural
  const char* method = "GET";
  std::string path;  // includes the query
  std::string body;
  const char* content_type = "application/json";
  // Returns the body as JSON if `body` is protobuf. It is sent instead if the server does not
  // accept protobuf, and then for every later request of this resource.
  std::function<std::string()> as_json;
  bool protobuf = false;       // the answer may be protobuf
  bool metadata_only = false;  // the answer may be a PartialObjectMetadata
  // Receives the body of a 2xx answer as it arrives; Call then returns no body. An error ends the
  // call.
  std::function<absl::Status(std::string_view)> receive;
  bool IsWrite() const { return method != std::string_view("GET"); }
};

// Sends requests to one API server: credentials, connections, rate limit, retries. Thread-safe. The
// observer may be null; otherwise it must outlive the transport.
class RestTransport {
 public:
  // Reads the credentials (without running a plugin), but does not connect.
  static absl::StatusOr<std::unique_ptr<RestTransport>> Create(RestConfig config,
                                                               RequestObserver* observer);

  // Returns the body of a 2xx answer, or the server's refusal as an ApiError.
  absl::StatusOr<std::string> Call(RestRequest request, absl::Duration timeout);

  // Opens the connection of a watch: waits for the rate limit, and returns a connection outside the
  // pool, with the request's headers set.
  absl::StatusOr<std::unique_ptr<httplib::SSLClient>> Dial(httplib::Request& request,
                                                           absl::Time deadline);
  void Observe(const RestRequest& request, int code, absl::Duration latency) const;
  // Called when an answer was 401.
  void Refused() { credentials_.Refuse(); }
  absl::Status ConnectError(const httplib::SSLClient& client, httplib::Error error) const;
  // Returns true if bodies of this resource may be protobuf.
  bool WritesProtobuf(std::string_view resource) const;

  const RestConfig& config() const { return config_; }
  const ServerUrl& server() const { return server_; }
  const Clock& clock() const { return clock_; }

 private:
  // One attempt's answer.
  struct Answer {
    int code = 0;
    std::string body;
    std::string retry_after;
    std::vector<std::string> warnings;
    bool stale = false;  // a reused connection gave no answer
  };

  RestTransport(RestConfig config, ServerUrl server, RequestObserver* observer);

  absl::Status Throttle(absl::Time deadline);
  void SetHeaders(httplib::Request& request, const Credentials& credentials) const;
  std::string HeadOf(const RestRequest& request, const Credentials& credentials,
                     absl::Duration left) const;
  absl::StatusOr<Answer> Attempt(const RestRequest& request, absl::Time deadline);
  absl::StatusOr<Answer> Exchange(const RestRequest& request, const Credentials& credentials,
                                  Connection& connection, absl::Time deadline, bool& healthy);
  // Changes the body of `request` to JSON. Returns false if it already is JSON.
  bool TurnToJson(RestRequest& request);
  absl::Status Broken(const RestRequest& request, const httplib::SSLClient& client,
                      httplib::Error error, absl::Time deadline) const;

  const RestConfig config_;
  const ServerUrl server_;
  const std::string host_;  // the Host header
  const Clock& clock_ = Clock::Real();
  RequestObserver* const observer_;
  CredentialSource credentials_;
  RateLimiter limiter_;
  ConnectionPool pool_;
  ServerWarnings warnings_;
  mutable Mutex mu_;
  // Resources whose objects the server accepts only as JSON.
  std::set<std::string, std::less<>> json_only_ MUSTER_GUARDED_BY(mu_);
};

// Returns the Accept header. The server may answer with whole objects all the same.
std::string AcceptHeader(bool protobuf, bool metadata_only);

// Converts the server's refusal to an ApiError, from its metav1.Status or else from the body's
// text.
absl::Status RefusalOf(int code, const std::string& body, const std::string& retry_after);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_TRANSPORT_H_
