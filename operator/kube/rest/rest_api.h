#ifndef MUSTER_OPERATOR_KUBE_REST_REST_API_H_
#define MUSTER_OPERATOR_KUBE_REST_REST_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

class RestTransport;

struct LogOptions {
  std::string container;
  // Goes on with what the container writes later, until it ends.
  bool follow = false;
  // Each line begins with its time, RFC 3339 with nanoseconds, and a space.
  bool timestamps = false;
  // Only lines of this second (RFC 3339) and later; empty: all that the node has kept.
  std::string since_time;
  // Only this many of the last lines; negative: all.
  int64_t tail_lines = -1;
};

// A client of a real API server, over TLS 1.2 or later with the server's certificate verified. A
// call's timeout covers all of it: the wait for the client's rate limit, for a connection and for
// the Retry-After of a 429, and the work on the server (?timeout=). Besides a 429, the retried
// calls are a 401 if the credentials may have changed, a 415 (as JSON instead of protobuf), and a
// read whose kept-alive connection turned out to be closed. A write whose answer did not arrive is
// kDeadlineExceeded (Timeout); one that was never sent is kUnavailable.
//
//   MUSTER_ASSIGN_OR_RETURN(RestConfig config, LoadKubeconfig(KubeconfigPaths(""), ""));
//   MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<RestApi> api, RestApi::Create(config));
//
// Thread-safe; calls run concurrently on up to max_connections connections. Each watch has its own
// thread and connection. Must outlive its watchers. `observer` may be null; otherwise it must
// outlive the RestApi.
class RestApi final : public Api {
 public:
  // Reads certificates and keys, but does not connect. kInvalidArgument names what is wrong.
  static absl::StatusOr<std::unique_ptr<RestApi>> Create(RestConfig config,
                                                         RequestObserver* observer = nullptr);
  ~RestApi() override;

  absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                           const CallOptions& call = {}) override;
  absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                  const CallOptions& call = {}) override;
  // Waits for the head of the server's answer, so that a refusal is returned here.
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                 const WatchOptions& options,
                                                 const CallOptions& call = {}) override;
  absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const CallOptions& call = {}) override;
  absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call = {}) override;
  absl::StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, const Json& patch,
                             const Preconditions& preconditions = {},
                             const CallOptions& call = {}) override;
  absl::Status Delete(const ResourceType& type, const ObjectKey& key,
                      const DeleteOptions& options = {}, const CallOptions& call = {}) override;
  absl::Status Bind(const Binding& binding, const CallOptions& call = {}) override;

  // Reads the log of a pod's container from its node. `receive` gets the bytes as they arrive, in
  // pieces that need not end with a line; an error that it returns ends the call and is returned.
  // OK: the log is at its end. A call that follows a log ends with Timeout after `timeout`, at most
  // an hour, and a container that has not started is refused.
  absl::Status ReadLog(const ObjectKey& pod, const LogOptions& options,
                       const std::function<absl::Status(std::string_view)>& receive,
                       absl::Duration timeout);

 private:
  explicit RestApi(std::unique_ptr<RestTransport> transport);

  const std::unique_ptr<RestTransport> transport_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_API_H_
