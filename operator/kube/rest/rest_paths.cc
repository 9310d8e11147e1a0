#include "operator/kube/rest/rest_paths.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/percent_encoding.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

absl::Status CheckSegment(const std::string& field, const std::string& text) {
  if (!text.empty() && text != "." && text != ".." &&
      text.find_first_of("/%") == std::string::npos) {
    return absl::OkStatus();
  }
  return ApiError(Reason::kInvalid, absl::StrCat("metadata.", field, ": Invalid value: \"", text,
                                                 "\": may not be empty, '.', '..', or contain "
                                                 "'/' or '%'"));
}

}  // namespace

std::string CollectionPath(const ResourceType& type, const std::string& name_space) {
  std::string path = type.group.empty() ? absl::StrCat("/api/", std::string(type.version))
                                        : absl::StrCat("/apis/", type.ApiVersion());
  if (type.namespaced && !name_space.empty()) {
    absl::StrAppend(&path, "/namespaces/", PercentEncode(name_space));
  }
  absl::StrAppend(&path, "/", std::string(type.plural));
  return path;
}

absl::StatusOr<std::string> CreatePath(const ResourceType& type, const std::string& name_space) {
  if (type.namespaced) MUSTER_RETURN_IF_ERROR(CheckSegment("namespace", name_space));
  return CollectionPath(type, name_space);
}

absl::StatusOr<std::string> ObjectPath(const ResourceType& type, const ObjectKey& key) {
  MUSTER_ASSIGN_OR_RETURN(const std::string collection, CreatePath(type, key.name_space));
  MUSTER_RETURN_IF_ERROR(CheckSegment("name", key.name));
  return absl::StrCat(collection, "/", PercentEncode(key.name));
}

Query ListQuery(const ListOptions& options) {
  return {{"labelSelector", options.label_selector},
          {"fieldSelector", options.field_selector},
          {"limit", options.limit > 0 ? absl::StrCat(options.limit) : ""},
          {"continue", options.continue_token}};
}

Query WatchQuery(const WatchOptions& options, absl::Duration lifetime) {
  const int64_t seconds = std::max<int64_t>(1, absl::ToInt64Seconds(lifetime));
  Query query = {{"watch", "true"},
                 {"labelSelector", options.label_selector},
                 {"fieldSelector", options.field_selector},
                 {"resourceVersion", options.resource_version},
                 {"allowWatchBookmarks", options.bookmarks ? "true" : ""},
                 {"timeoutSeconds", absl::StrCat(seconds)}};
  if (options.send_initial_events) {
    query.emplace_back("sendInitialEvents", "true");
    query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  return query;
}

std::string WithQuery(std::string_view path, const Query& query) {
  std::string target(path);
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    target += separator;
    absl::StrAppend(&target, name, "=", PercentEncode(value));
    separator = '&';
  }
  return target;
}

std::string GoDuration(absl::Duration duration) {
  return absl::StrCat(std::max<int64_t>(1, absl::ToInt64Milliseconds(duration)), "ms");
}

}  // namespace muster::kube
