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
  std::string path;  // with its query
  std::string body;
  const char* content_type = "application/json";
  // The body as JSON, where `body` is protobuf: sent in its place when the server does not take
  // that, and so for every later one of this resource.
  std::function<std::string()> as_json;
  bool protobuf = false;       // the answer may be protobuf
  bool metadata_only = false;  // and have nothing but metadata: PartialObjectMetadata
  // Takes the body of a 2xx answer as it arrives, in place of a whole one. An error ends the call.
  std::function<absl::Status(std::string_view)> receive;
  bool IsWrite() const { return method != std::string_view("GET"); }
};

// Requests to one API server: credentials, connections, rate limit, retries. Thread-safe. The
// observer may be null, else must outlive it.
class RestTransport {
 public:
  // Reads the credentials (running no plugin), but connects to nothing.
  static absl::StatusOr<std::unique_ptr<RestTransport>> Create(RestConfig config,
                                                               RequestObserver* observer);

  // The body of the answer when it is a 2xx, the server's refusal as an ApiError otherwise.
  absl::StatusOr<std::string> Call(RestRequest request, absl::Duration timeout);

  // For a watch: waits for the rate limit, and gives a connection outside of the pool with the
  // request's headers set.
  absl::StatusOr<std::unique_ptr<httplib::SSLClient>> Dial(httplib::Request& request,
                                                           absl::Time deadline);
  void Observe(const RestRequest& request, int code, absl::Duration latency) const;
  // Told that an answer was 401.
  void Refused() { credentials_.Refuse(); }
  absl::Status ConnectError(const httplib::SSLClient& client, httplib::Error error) const;
  // Whether bodies of this resource may be protobuf.
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
    bool stale = false;  // nothing came on a connection that had been kept
  };

  RestTransport(RestConfig config, ServerUrl server, RequestObserver* observer);

  absl::Status Throttle(absl::Time deadline);
  void SetHeaders(httplib::Request& request, const Credentials& credentials) const;
  std::string HeadOf(const RestRequest& request, const Credentials& credentials,
                     absl::Duration left) const;
  absl::StatusOr<Answer> Attempt(const RestRequest& request, absl::Time deadline);
  absl::StatusOr<Answer> Exchange(const RestRequest& request, const Credentials& credentials,
                                  Connection& connection, absl::Time deadline, bool& healthy);
  // Makes `request` one of JSON. False: it is already.
  bool TurnToJson(RestRequest& request);
  absl::Status Broken(const RestRequest& request, const httplib::SSLClient& client,
                      httplib::Error error, absl::Time deadline) const;

  const RestConfig config_;
  const ServerUrl server_;
  const std::string host_;  // for the header of that name
  const Clock& clock_ = Clock::Real();
  RequestObserver* const observer_;
  CredentialSource credentials_;
  RateLimiter limiter_;
  ConnectionPool pool_;
  ServerWarnings warnings_;
  mutable Mutex mu_;
  std::set<std::string, std::less<>> json_only_ MUSTER_GUARDED_BY(mu_);  // resources
};

// What to accept of a server. It may answer with whole objects all the same.
std::string AcceptHeader(bool protobuf, bool metadata_only);

// The server's refusal as an ApiError: its metav1.Status, or what there is.
absl::Status RefusalOf(int code, const std::string& body, const std::string& retry_after);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_TRANSPORT_H_
