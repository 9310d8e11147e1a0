#ifndef MUSTER_OPERATOR_KUBE_REST_REST_PATHS_H_
#define MUSTER_OPERATOR_KUBE_REST_REST_PATHS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// URL paths and queries of an API server, escaped. Pure.
namespace muster::kube {

using Query = std::vector<std::pair<std::string, std::string>>;

// Returns "/api/v1/namespaces/ns/pods", or the path over all namespaces if `name_space` is empty.
std::string CollectionPath(const ResourceType& type, const std::string& name_space);
// Returns ".../pods/name". A name that would change the path is Invalid, as on the server.
absl::StatusOr<std::string> ObjectPath(const ResourceType& type, const ObjectKey& key);
// Returns the path for creating an object in `name_space`. Invalid if the type needs a namespace
// and has none.
absl::StatusOr<std::string> CreatePath(const ResourceType& type, const std::string& name_space);

Query ListQuery(const ListOptions& options);
// Asks the server to end the stream after `lifetime`.
Query WatchQuery(const WatchOptions& options, absl::Duration lifetime);

// Returns "path?a=b&c=d" without parameters whose value is empty.
std::string WithQuery(std::string_view path, const Query& query);
// Formats a duration for "?timeout=": whole milliseconds, at least one.
std::string GoDuration(absl::Duration duration);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_PATHS_H_
