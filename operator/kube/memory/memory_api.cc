#include "operator/kube/memory/memory_api.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/memory/meta_rules.h"
#include "operator/kube/memory/store_log.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

// The version is raised by this much after a torn tail, so that a lost version is never reused.
constexpr uint64_t kLostVersions = 1000;

absl::Status Modified(const ResourceType& type, const std::string& name) {
  return ApiError(
      Reason::kConflict,
      absl::StrCat("Operation cannot be fulfilled on ", std::string(type.plural), " \"", name,
                   "\": the object has been modified; please apply your changes to "
                   "the latest version and try again"));
}

absl::Status NoSuchResource() {
  return ApiError(Reason::kNotFound, "the server could not find the requested resource");
}

}  // namespace

MemoryApi::MemoryApi(const Clock& clock, MemoryApiOptions options)
    : clock_(clock),
      options_(std::move(options)),
      store_(options_.resources, options_.history_limit) {}

MemoryApi::~MemoryApi() = default;

absl::StatusOr<std::unique_ptr<MemoryApi>> MemoryApi::Open(const Clock& clock,
                                                           MemoryApiOptions options) {
  std::unique_ptr<MemoryApi> api(new MemoryApi(clock, std::move(options)));
  MUSTER_RETURN_IF_ERROR(api->Load(/*writable=*/true));
  return api;
}

absl::StatusOr<std::unique_ptr<MemoryApi>> MemoryApi::OpenReadOnly(const Clock& clock,
                                                                   MemoryApiOptions options) {
  std::unique_ptr<MemoryApi> api(new MemoryApi(clock, std::move(options)));
  MUSTER_RETURN_IF_ERROR(api->Load(/*writable=*/false));
  return api;
}

absl::Status MemoryApi::Load(bool writable) {
  MutexLock lock(mu_);
  read_only_ = !writable;
  std::unique_ptr<Wal> wal;
  auto loader = std::make_unique<StoreLoader>(store_);
  const auto replay = [&](std::string_view record, bool from_snapshot) {
    return loader->Replay(record, from_snapshot);
  };
  if (!options_.directory.empty() && writable) {
    MUSTER_ASSIGN_OR_RETURN(wal, Wal::Open(options_.directory, options_.wal, replay));
    dropped_bytes_ = wal->dropped_bytes();
  } else if (!options_.directory.empty()) {
    Files& files = options_.wal.files == nullptr ? FileSystem() : *options_.wal.files;
    const auto begin = [&]() MUSTER_REQUIRES(mu_) {
      store_ = MemoryStore(options_.resources, options_.history_limit);
      loader = std::make_unique<StoreLoader>(store_);
    };
    MUSTER_RETURN_IF_ERROR(Wal::Read(options_.directory, files, begin, replay));
  }
  MUSTER_RETURN_IF_ERROR(loader->Finish());
  if (dropped_bytes_ > 0) store_.SetVersion(store_.version() + kLostVersions);
  writer_ = std::make_unique<StoreWriter>(store_, std::move(wal));
  deleter_ = std::make_unique<Deleter>(store_, *writer_, clock_);
  garbage_ = std::make_unique<GarbageCollector>(store_, *deleter_);
  writer_->SetListener([this](const SharedJson& before, const SharedJson& after)
                           MUSTER_REQUIRES(mu_) { garbage_->Changed(before, after); });
  if (!writable) return absl::OkStatus();
  garbage_->MarkAll();
  // A full disk must not prevent reading the state; the next write repairs the log.
  if (dropped_bytes_ > 0) writer_->Compact().IgnoreError();
  garbage_->Settle().IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<StoreTable*> MemoryApi::TableFor(const ResourceType& type, const CallOptions& call) {
  if (call.timeout <= absl::ZeroDuration()) {
    return ApiError(Reason::kTimeout, "the call's time ran out before it was made");
  }
  StoreTable* table = store_.Table(type);
  if (table != nullptr) return table;
  return NoSuchResource();
}

absl::StatusOr<StoreTable*> MemoryApi::WritableTable(const ResourceType& type,
                                                     const CallOptions& call) {
  if (read_only_) return ApiError(Reason::kForbidden, "the state was opened for reading only");
  return TableFor(type, call);
}

absl::StatusOr<Json> MemoryApi::Answer(
    const ResourceType& type, const CallOptions& call,
    absl::FunctionRef<absl::StatusOr<SharedJson>(StoreTable&)> write) {
  SharedJson written;
  {
    MutexLock lock(mu_);
    MUSTER_ASSIGN_OR_RETURN(StoreTable * table, WritableTable(type, call));
    MUSTER_ASSIGN_OR_RETURN(written, write(*table));
  }
  return SelectFields(call.fields, *written);
}

absl::StatusOr<SharedJson> MemoryApi::Existing(StoreTable& table, const ObjectKey& key) {
  SharedJson object = store_.Get(table, key);
  if (object != nullptr) return object;
  return ApiError(Reason::kNotFound, absl::StrCat(std::string(table.resource.type.plural), " \"",
                                                  key.name, "\" not found"));
}

void MemoryApi::Settle() {
  // Objects that cannot be written now stay marked and are tried again after the next write.
  garbage_->Settle().IgnoreError();
}

std::string MemoryApi::NewUid() {
  const uint64_t high = options_.random ? options_.random() : store_.version();
  const uint64_t low = options_.random ? options_.random() : store_.version();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffff);
}

std::string MemoryApi::NameSuffix() {
  constexpr char kLetters[] = "bcdfghjklmnpqrstvwxz2456789";
  uint64_t random = options_.random ? options_.random() : store_.version();
  std::string suffix;
  for (int i = 0; i < 5; ++i) {
    suffix += kLetters[random % (sizeof(kLetters) - 1)];
    random /= sizeof(kLetters) - 1;
  }
  return suffix;
}

absl::StatusOr<Json> MemoryApi::Create(const ResourceType& type, const Json& object,
                                       const CallOptions& call) {
  if (type == kTokenReviews || type == kSubjectAccessReviews) {
    return ApiError(Reason::kMethodNotAllowed,
                    absl::StrCat("the embedded API server does not serve ", std::string(type.kind),
                                 ": it has no users"));
  }
  Json fresh = object;  // copied without the lock
  return Answer(type, call, [&](StoreTable& table) MUSTER_REQUIRES(mu_) {
    return Add(table, std::move(fresh));
  });
}

absl::StatusOr<SharedJson> MemoryApi::Add(StoreTable& table, Json fresh) {
  const ResourceType& type = table.resource.type;
  MUSTER_RETURN_IF_ERROR(CheckEnvelope(type, fresh));
  const std::string prefix = StringAt(fresh, {"metadata", "generateName"});
  if (NameOf(fresh).empty() && !prefix.empty()) {
    SetName(fresh, absl::StrCat(prefix.substr(0, 58), NameSuffix()));
  }
  if (NameOf(fresh).empty()) {
    return ApiError(Reason::kInvalid,
                    "metadata.name: Required value: name or generateName is required");
  }
  MUSTER_ASSIGN_OR_RETURN(fresh,
                          PrepareCreate(table.resource, std::move(fresh), NewUid(), clock_.Wall()));
  if (store_.Get(table, KeyOf(fresh)) != nullptr) {
    return ApiError(Reason::kAlreadyExists, absl::StrCat(std::string(type.plural), " \"",
                                                         NameOf(fresh), "\" already exists"));
  }
  MUSTER_ASSIGN_OR_RETURN(SharedJson stored, writer_->Put(table, std::move(fresh)));
  Settle();
  return stored;
}

absl::StatusOr<Json> MemoryApi::CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                                  const std::string& subresource, const Json&,
                                                  const CallOptions&) {
  return ApiError(Reason::kMethodNotAllowed,
                  absl::StrCat("the embedded API server does not serve ", subresource, " of ",
                               std::string(type.plural), " \"", key.name, "\""));
}

absl::StatusOr<SharedJson> MemoryApi::Replace(StoreTable& table, Json object, Operation operation) {
  const ResourceType& type = table.resource.type;
  MUSTER_RETURN_IF_ERROR(CheckEnvelope(type, object));
  MUSTER_ASSIGN_OR_RETURN(const SharedJson stored, Existing(table, KeyOf(object)));
  const std::string sent = ResourceVersionOf(object);
  if (sent.empty() && !AllowsUnconditionalUpdate(type)) {
    return ApiError(Reason::kInvalid,
                    "metadata.resourceVersion: Invalid value: 0: must be specified for an update");
  }
  absl::StatusOr<Json> updated = operation == Operation::kUpdateStatus
                                     ? PrepareStatusUpdate(table.resource, *stored, object)
                                     : PrepareUpdate(table.resource, *stored, std::move(object));
  // A uid mismatch is reported before a version mismatch, as on the server.
  if (!updated.ok() && ReasonOf(updated.status()) == Reason::kConflict) return updated.status();
  if (!sent.empty() && sent != ResourceVersionOf(*stored)) return Modified(type, NameOf(*stored));
  if (!updated.ok()) return updated.status();
  MUSTER_ASSIGN_OR_RETURN(SharedJson after, deleter_->StoreUpdate(table, *std::move(updated)));
  Settle();
  return after;
}

absl::StatusOr<Json> MemoryApi::Update(const ResourceType& type, const Json& object,
                                       const CallOptions& call) {
  Json sent = object;
  return Answer(type, call, [&](StoreTable& table) MUSTER_REQUIRES(mu_) {
    return Replace(table, std::move(sent), Operation::kUpdate);
  });
}

absl::StatusOr<Json> MemoryApi::UpdateStatus(const ResourceType& type, const Json& object,
                                             const CallOptions& call) {
  Json sent = object;
  return Answer(type, call,
                [&](StoreTable& table) MUSTER_REQUIRES(mu_) -> absl::StatusOr<SharedJson> {
                  if (!type.status_subresource) return NoSuchResource();
                  return Replace(table, std::move(sent), Operation::kUpdateStatus);
                });
}

absl::StatusOr<Json> MemoryApi::Patch(const ResourceType& type, const ObjectKey& key,
                                      const Json& patch, const Preconditions& preconditions,
                                      const CallOptions& call) {
  return Answer(type, call, [&](StoreTable& table) MUSTER_REQUIRES(mu_) {
    return Patched(table, key, patch, preconditions);
  });
}

absl::StatusOr<SharedJson> MemoryApi::Patched(StoreTable& table, const ObjectKey& key,
                                              const Json& patch,
                                              const Preconditions& preconditions) {
  if (!patch.is_object() || !patch.value("metadata", Json::object()).is_object()) {
    return ApiError(Reason::kBadRequest, "a patch must be a JSON object");
  }
  MUSTER_ASSIGN_OR_RETURN(const SharedJson stored, Existing(table, key));
  MUSTER_RETURN_IF_ERROR(CheckPreconditions(table.resource.type, *stored, preconditions));
  Json patched = *stored;
  patched.merge_patch(patch);
  if (KeyOf(patched) != key) {
    return ApiError(Reason::kBadRequest, "the name or namespace of an object cannot be changed");
  }
  return Replace(table, std::move(patched), Operation::kUpdate);
}

absl::StatusOr<Json> MemoryApi::Recreate(const ResourceType& type, const Json& object,
                                         const Preconditions& preconditions) {
  Json sent = object;
  return Answer(
      type, {}, [&](StoreTable& table) MUSTER_REQUIRES(mu_) -> absl::StatusOr<SharedJson> {
        MUSTER_RETURN_IF_ERROR(CheckEnvelope(type, sent));
        MUSTER_ASSIGN_OR_RETURN(const SharedJson stored, Existing(table, KeyOf(sent)));
        MUSTER_RETURN_IF_ERROR(CheckPreconditions(type, *stored, preconditions));
        const Json* status = Find(object, {"status"});
        MUSTER_ASSIGN_OR_RETURN(
            Json fresh, PrepareCreate(table.resource, std::move(sent), NewUid(), clock_.Wall()));
        if (status != nullptr) fresh["status"] = *status;
        MUSTER_ASSIGN_OR_RETURN(SharedJson after, writer_->Replace(table, std::move(fresh)));
        Settle();
        return after;
      });
}

absl::Status MemoryApi::Delete(const ResourceType& type, const ObjectKey& key,
                               const DeleteOptions& options, const CallOptions& call) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(StoreTable * table, WritableTable(type, call));
  MUSTER_RETURN_IF_ERROR(deleter_->Delete(*table, key, options));
  Settle();
  return absl::OkStatus();
}

absl::StatusOr<Json> MemoryApi::BoundPod(const Json& pod, const Binding& binding) const {
  const auto refuse = [&](const std::string& why) {
    return ApiError(Reason::kConflict,
                    absl::StrCat("Operation cannot be fulfilled on pods/binding \"",
                                 binding.pod.name, "\": ", why));
  };
  if (binding.node.empty()) {
    return ApiError(Reason::kInvalid, "target.name: Required value");
  }
  MUSTER_RETURN_IF_ERROR(CheckPreconditions(kPods, pod, binding.preconditions));
  if (IsTerminating(pod)) {
    return refuse(
        absl::StrCat("pod ", binding.pod.name, " is being deleted, cannot be assigned to a host"));
  }
  const std::string node = StringAt(pod, {"spec", "nodeName"});
  if (!node.empty()) {
    return refuse(
        absl::StrCat("pod ", binding.pod.name, " is already assigned to node \"", node, "\""));
  }
  const Json* gates = Find(pod, {"spec", "schedulingGates"});
  if (gates != nullptr && !gates->empty()) return refuse("pod has non-empty .spec.schedulingGates");
  Json bound = pod;
  bound["spec"]["nodeName"] = binding.node;
  for (const auto& [key, value] : binding.annotations) SetAnnotation(bound, key, value);
  bound["status"]["conditions"].push_back(
      {{"type", "PodScheduled"},
       {"status", "True"},
       {"lastTransitionTime", kube::FormatTime(clock_.Wall())}});
  return bound;
}

absl::Status MemoryApi::Bind(const Binding& binding, const CallOptions& call) {
  MutexLock lock(mu_);
  MUSTER_ASSIGN_OR_RETURN(StoreTable * table, WritableTable(kPods, call));
  MUSTER_ASSIGN_OR_RETURN(const SharedJson pod, Existing(*table, binding.pod));
  MUSTER_ASSIGN_OR_RETURN(Json bound, BoundPod(*pod, binding));
  MUSTER_RETURN_IF_ERROR(writer_->Put(*table, std::move(bound)).status());
  Settle();
  return absl::OkStatus();
}

void MemoryApi::CompactHistory() {
  MutexLock lock(mu_);
  store_.ForgetHistory();
}

absl::Status MemoryApi::Checkpoint() {
  MutexLock lock(mu_);
  if (read_only_) return absl::OkStatus();
  return writer_->Compact();
}

}  // namespace muster::kube
