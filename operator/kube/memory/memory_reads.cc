#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/memory/memory_watcher.h"
#include "operator/kube/selector.h"

// MemoryApi's reads: Get, List with its pages, Watch.
namespace muster::kube {
namespace {

struct Page {
  uint64_t version = 0;
  ObjectKey after;  // the last key already returned
};

std::string EncodeToken(const Page& page) {
  const Json token = {
      {"v", page.version}, {"ns", page.after.name_space}, {"name", page.after.name}};
  return std::string(absl::WebSafeBase64Escape(DumpJson(token)));
}

absl::StatusOr<Page> DecodeToken(const std::string& token) {
  std::string text;
  const absl::Status bad = ApiError(Reason::kBadRequest, "continue key is not valid");
  if (!absl::WebSafeBase64Unescape(token, &text)) return bad;
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return bad;
  const Json* version = Find(*json, {"v"});
  if (version == nullptr || !version->is_number_unsigned()) return bad;
  return Page{version->get<uint64_t>(), {StringAt(*json, {"ns"}), StringAt(*json, {"name"})}};
}

absl::StatusOr<WatchFilter> FilterOf(const ResourceType& type, const std::string& name_space,
                                     const std::string& labels, const std::string& fields) {
  WatchFilter filter;
  filter.name_space = name_space;
  MUSTER_ASSIGN_OR_RETURN(filter.labels, LabelSelector::Parse(labels));
  MUSTER_ASSIGN_OR_RETURN(filter.fields, FieldSelector::Parse(type, fields));
  return filter;
}

ObjectList PageOf(const std::map<ObjectKey, SharedJson>& objects, const WatchFilter& filter,
                  const Page& page, const ListOptions& options, const FieldMask* fields) {
  ObjectList list;
  list.resource_version = absl::StrCat(page.version);
  Page next = page;
  int64_t count = 0;
  auto it = page.after.name.empty() ? objects.begin() : objects.upper_bound(page.after);
  for (; it != objects.end(); ++it) {
    if (!filter.name_space.empty() && it->first.name_space != filter.name_space) continue;
    // Like the real server, this does not check whether a later object matches the selectors, so
    // the last page may be empty.
    if (options.limit > 0 && count == options.limit) {
      list.continue_token = EncodeToken(next);
      break;
    }
    if (!filter.Matches(*it->second)) continue;
    ++count;
    Json item = SelectFields(fields, *it->second);
    if (options.on_item) {
      options.on_item(std::move(item));
    } else {
      list.items.push_back(std::move(item));
    }
    next.after = it->first;
  }
  return list;
}

}  // namespace

absl::StatusOr<Json> MemoryApi::Get(const ResourceType& type, const ObjectKey& key,
                                    const CallOptions& call) {
  SharedJson object;
  {
    MutexLock lock(mu_);
    MUSTER_ASSIGN_OR_RETURN(StoreTable * table, TableFor(type, call));
    MUSTER_ASSIGN_OR_RETURN(object, Existing(*table, key));
  }
  return SelectFields(call.fields, *object);
}

absl::StatusOr<ObjectList> MemoryApi::List(const ResourceType& type, const ListOptions& options,
                                           const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(
      const WatchFilter filter,
      FilterOf(type, options.name_space, options.label_selector, options.field_selector));
  Page page;
  std::map<ObjectKey, SharedJson> objects;
  {
    MutexLock lock(mu_);
    MUSTER_ASSIGN_OR_RETURN(StoreTable * table, TableFor(type, call));
    page.version = store_.version();
    if (options.continue_token.empty()) {
      objects = table->objects;
    } else {
      MUSTER_ASSIGN_OR_RETURN(page, DecodeToken(options.continue_token));
      MUSTER_ASSIGN_OR_RETURN(objects, store_.At(*table, page.version));
    }
  }
  return PageOf(objects, filter, page, options, call.fields);
}

absl::StatusOr<std::unique_ptr<Watcher>> MemoryApi::Watch(const ResourceType& type,
                                                          const WatchOptions& options,
                                                          const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(
      WatchFilter filter,
      FilterOf(type, options.name_space, options.label_selector, options.field_selector));
  const absl::StatusOr<uint64_t> from = ParseResourceVersion(options.resource_version);
  if (!from.ok()) return ApiError(Reason::kInvalid, std::string(from.status().message()));
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(StoreTable * table, TableFor(type, call));
  if (*from > store_.version()) {
    return ApiError(Reason::kTimeout, absl::StrCat("Too large resource version: ", *from,
                                                   ", current: ", store_.version()));
  }
  const uint64_t after = *from == 0 ? store_.version() : *from;
  auto watcher = std::make_unique<MemoryWatcher>(*this, *table, std::move(filter), after, options,
                                                 call.fields);
  if (*from == 0) {
    std::vector<SharedJson> objects;
    for (const auto& [key, object] : table->objects) objects.push_back(object);
    watcher->AddInitial(objects);
    if (options.send_initial_events && options.bookmarks) watcher->EndInitial();
  } else if (after < table->floor) {
    return ApiError(Reason::kExpired,
                    absl::StrCat("too old resource version: ", after, " (", table->floor, ")"));
  }
  return std::unique_ptr<Watcher>(std::move(watcher));
}

}  // namespace muster::kube
