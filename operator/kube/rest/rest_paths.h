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

// Where on an API server something is: paths and queries, escaped. Pure.
namespace muster::kube {

using Query = std::vector<std::pair<std::string, std::string>>;

// "/api/v1/namespaces/ns/pods", over all namespaces when `name_space` is empty.
std::string CollectionPath(const ResourceType& type, const std::string& name_space);
// ".../pods/name". A name that would be another path is Invalid, as the server would say.
absl::StatusOr<std::string> ObjectPath(const ResourceType& type, const ObjectKey& key);
// Where an object of this namespace is created. Invalid when the type needs one and has none.
absl::StatusOr<std::string> CreatePath(const ResourceType& type, const std::string& name_space);

Query ListQuery(const ListOptions& options);
// The server is asked to end the stream after `lifetime`.
Query WatchQuery(const WatchOptions& options, absl::Duration lifetime);

// "path?a=b&c=d"; parameters with an empty value are left out.
std::string WithQuery(std::string_view path, const Query& query);
// As in "?timeout=": whole milliseconds, at least one.
std::string GoDuration(absl::Duration duration);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_PATHS_H_
