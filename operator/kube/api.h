#ifndef MUSTER_OPERATOR_KUBE_API_H_
#define MUSTER_OPERATOR_KUBE_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// The interface to a Kubernetes API server, implemented by MemoryApi (embedded) and by RestApi (a
// real server). Objects are whole JSON documents. Errors are described in api_error.h.
namespace muster::kube {

struct CallOptions {
  // Limits the whole call. A call that exceeds it fails with kDeadlineExceeded (Timeout); a write
  // may then have happened or not.
  absl::Duration timeout = absl::Seconds(5);
  // Selects the fields that are needed of the objects in the answer, or in a watch's events. More
  // may be returned; fewer fields are cheaper on both sides. Null selects all. Must outlive the
  // call and its watcher.
  const FieldMask* fields = nullptr;
};

// Empty fields are not checked. A mismatch is kAborted (Conflict).
struct Preconditions {
  std::string uid;
  std::string resource_version;
};

struct ListOptions {
  std::string name_space;      // empty: all namespaces
  std::string label_selector;  // "a=b,c!=d,e in (x,y),f notin (z),g,!h"
  std::string field_selector;  // metadata.name, metadata.namespace, spec.nodeName, status.phase
  int64_t limit = 0;           // 0: everything in one page
  std::string continue_token;  // from the previous page; the other fields must be unchanged
  // Receives the items one by one as they arrive, so that the whole list is never held in memory;
  // ObjectList::items then stays empty. A list that fails may have delivered some items.
  std::function<void(Json)> on_item;
};

struct ObjectList {
  std::vector<Json> items;       // sorted by (namespace, name)
  std::string resource_version;  // the same on every page of one list; watch from here
  std::string continue_token;    // empty on the last page
};

struct WatchOptions {
  std::string name_space;
  std::string label_selector;
  std::string field_selector;
  // Only events after this version are sent. If it is empty or "0", an Added event for every
  // existing object comes first.
  std::string resource_version;
  bool bookmarks = true;
  // When resource_version is empty, a bookmark with the annotation kInitialEventsEnd follows the
  // last existing object, so that the watch also serves as a list. Needs bookmarks. Invalid on a
  // server that does not support it.
  bool send_initial_events = false;
  // The server ends the stream after this time (WatchClosed).
  absl::Duration server_timeout = absl::InfiniteDuration();
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  // A kDeleted event carries the last state, at the version of the deletion (or of the change that
  // took the object out of the selector). A kBookmark has metadata.resourceVersion only.
  Json object;
};

// Annotation of the bookmark that ends the initial events (send_initial_events).
inline constexpr char kInitialEventsEnd[] = "k8s.io/initial-events-end";

// One stream of events. Next must be called by one thread; Stop may be called by any and wakes
// Next.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Returns the next event, or nothing when `wait` ran out first (zero does not wait). Errors:
  // kOutOfRange (Expired), list again; kUnavailable (WatchClosed), watch again from the last
  // version seen; kCancelled after Stop. After any error every further call returns an error.
  virtual absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration wait) = 0;
  virtual void Stop() = 0;
};

enum class Propagation { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  Preconditions preconditions;
  std::optional<int64_t> grace_period_seconds;
  Propagation propagation = Propagation::kDefault;
};

struct Binding {
  ObjectKey pod;
  std::string node;
  Preconditions preconditions;  // checked by the server in the Binding's metadata
  Labels annotations;           // added to the pod in the same write
};

// The calls of an API server that muster makes. Thread-safe. Must outlive its watchers.
class Api {
 public:
  virtual ~Api() = default;

  virtual absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                                   const CallOptions& call = {}) = 0;
  // Returns kOutOfRange (Expired) if the continue token is too old.
  virtual absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                          const CallOptions& call = {}) = 0;
  // Returns kOutOfRange either here or from the first Next.
  virtual absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                         const WatchOptions& options,
                                                         const CallOptions& call = {}) = 0;

  // All writes of an object return it as stored. Create takes namespace and name (or generateName)
  // from the object's metadata. An object that is only evaluated and not stored (TokenReview) needs
  // no name.
  virtual absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                                      const CallOptions& call = {}) = 0;
  // Posts `object` to a subresource of an existing object and returns the answer, for example a
  // TokenRequest to the subresource "token" of a service account. kUnimplemented if the
  // implementation has no such endpoint.
  virtual absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                                 const std::string& subresource, const Json& object,
                                                 const CallOptions& call = {}) = 0;
  // Checks metadata.resourceVersion and metadata.uid if present. Ignores status if the type has a
  // status subresource.
  virtual absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                                      const CallOptions& call = {}) = 0;
  // Replaces only the object's status.
  virtual absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                            const CallOptions& call = {}) = 0;
  // `patch` is a JSON merge patch of the object: {"spec": {"a": "b", "old": null}}. Ignores status
  // if the type has a status subresource.
  virtual absl::StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key,
                                     const Json& patch, const Preconditions& preconditions = {},
                                     const CallOptions& call = {}) = 0;
  // The same of the object's metadata alone: {"labels": {"a": "b", "old": null}}.
  absl::StatusOr<Json> PatchMetadata(const ResourceType& type, const ObjectKey& key,
                                     const Json& patch, const Preconditions& preconditions = {},
                                     const CallOptions& call = {}) {
    return Patch(type, key, Json{{"metadata", patch}}, preconditions, call);
  }

  // OK means accepted: finalizers or a grace period may keep the object for a while.
  virtual absl::Status Delete(const ResourceType& type, const ObjectKey& key,
                              const DeleteOptions& options = {}, const CallOptions& call = {}) = 0;
  // Returns kAborted (Conflict) if the pod is already bound, is being deleted, or a precondition
  // fails.
  virtual absl::Status Bind(const Binding& binding, const CallOptions& call = {}) = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_API_H_
