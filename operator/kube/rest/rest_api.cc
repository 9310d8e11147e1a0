#include "operator/kube/rest/rest_api.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/proto/proto_writer.h"
#include "operator/kube/rest/list_reader.h"
#include "operator/kube/rest/rest_paths.h"
#include "operator/kube/rest/rest_transport.h"
#include "operator/kube/rest/rest_watch.h"

namespace muster::kube {
namespace {

constexpr ResourceType kBindings{"", "v1", "bindings", "Binding", true, false};

absl::Status Unreadable(const RestTransport& transport, const RestRequest& request,
                        absl::string_view why) {
  const std::string what =
      absl::StrCat(transport.config().server, ": the answer to ", std::string(request.verb), " of ",
                   std::string(request.resource), " is ", why);
  // The write was carried out; otherwise the server would have refused it.
  return ApiError(request.IsWrite() ? Reason::kTimeout : Reason::kInternalError, what);
}

absl::StatusOr<Json> ParseAnswer(const RestTransport& transport, const RestRequest& request,
                                 const std::string& body) {
  absl::StatusOr<Json> json = ParseJson(body, body.size());
  if (json.ok() && json->is_object()) return json;
  return Unreadable(transport, request, absl::StrCat("not a JSON object: ", Quoted(body)));
}

absl::StatusOr<Json> CallForJson(RestTransport& transport, const RestRequest& request,
                                 const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(const std::string body, transport.Call(request, call.timeout));
  return ParseAnswer(transport, request, body);
}

absl::StatusOr<Json> ParseProtoAnswer(const RestTransport& transport, const RestRequest& request,
                                      const ProtoPlan& plan, const std::string& body) {
  const absl::StatusOr<ProtoEnvelope> envelope = OpenEnvelope(body);
  absl::StatusOr<Json> object =
      envelope.ok() ? plan.Read(envelope->object) : absl::StatusOr<Json>(envelope.status());
  if (object.ok()) return object;
  return Unreadable(transport, request, object.status().message());
}

bool IsOfMetadataAlone(const FieldMask& fields) {
  const auto& parts = fields.root().children;
  return std::all_of(parts.begin(), parts.end(), [](const auto& part) {
    return part.first == "metadata" || part.first == "apiVersion" || part.first == "kind";
  });
}

absl::StatusOr<Json> CallForObject(RestTransport& transport, const ResourceType& type,
                                   RestRequest request, const CallOptions& call) {
  const std::unique_ptr<ProtoPlan> plan = PlanFor(transport, type, call.fields);
  request.protobuf = plan != nullptr;
  request.metadata_only = call.fields != nullptr && IsOfMetadataAlone(*call.fields);
  MUSTER_ASSIGN_OR_RETURN(const std::string body, transport.Call(request, call.timeout));
  // The server may answer in JSON nevertheless.
  absl::StatusOr<Json> object = plan != nullptr && IsProto(body)
                                    ? ParseProtoAnswer(transport, request, *plan, body)
                                    : ParseAnswer(transport, request, body);
  if (object.ok()) Normalise(type, *object);
  return object;
}

// Returns the object as JSON, with apiVersion and kind, which callers may leave out.
std::string BodyOf(const ResourceType& type, const Json& object) {
  if (!object.is_object() || (object.contains("kind") && object.contains("apiVersion"))) {
    return DumpJson(object);
  }
  Json whole = object;
  if (!whole.contains("kind")) whole["kind"] = std::string(type.kind);
  if (!whole.contains("apiVersion")) whole["apiVersion"] = type.ApiVersion();
  return DumpJson(whole);
}

// Encodes `object` as protobuf if the schema covers it, which takes the server a fraction of the
// time, else as JSON. `type` and `object` must outlive the call.
void SetBody(const RestTransport& transport, const ResourceType& type, const ProtoMessage* message,
             const Json& object, RestRequest& request) {
  const std::string kind = StringAt(object, {"kind"});
  const bool named =
      kind.empty() || kind == type.kind;  // a wrong kind is left for the server to refuse
  if (message != nullptr && named && transport.WritesProtobuf(request.resource)) {
    auto body = WriteProtoEnvelope(type.ApiVersion(), type.kind, object, *message);
    if (body.has_value()) {
      request.body = *std::move(body);
      request.content_type = "application/vnd.kubernetes.protobuf";
      request.as_json = [&type, &object] { return BodyOf(type, object); };
      return;
    }
  }
  request.body = BodyOf(type, object);
}

std::string_view PropagationWord(Propagation propagation) {
  switch (propagation) {
    case Propagation::kDefault:
      return "";
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

Json PreconditionsJson(const Preconditions& preconditions) {
  Json json = Json::object();
  if (!preconditions.uid.empty()) json["uid"] = preconditions.uid;
  if (!preconditions.resource_version.empty()) {
    json["resourceVersion"] = preconditions.resource_version;
  }
  return json;
}

Json DeleteBody(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (Json checks = PreconditionsJson(options.preconditions); !checks.empty()) {
    body["preconditions"] = std::move(checks);
  }
  if (options.grace_period_seconds.has_value()) {
    body["gracePeriodSeconds"] = *options.grace_period_seconds;
  }
  if (const auto word = PropagationWord(options.propagation); !word.empty()) {
    body["propagationPolicy"] = std::string(word);
  }
  return body;
}

}  // namespace

RestApi::RestApi(std::unique_ptr<RestTransport> transport) : transport_(std::move(transport)) {}

RestApi::~RestApi() = default;

absl::StatusOr<std::unique_ptr<RestApi>> RestApi::Create(RestConfig config,
                                                         RequestObserver* observer) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<RestTransport> transport,
                          RestTransport::Create(std::move(config), observer));
  return std::unique_ptr<RestApi>(new RestApi(std::move(transport)));
}

absl::StatusOr<Json> RestApi::Get(const ResourceType& type, const ObjectKey& key,
                                  const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key));
  return CallForObject(*transport_, type,
                       {.verb = "get", .resource = type.plural, .path = std::move(path)}, call);
}

absl::StatusOr<ObjectList> RestApi::List(const ResourceType& type, const ListOptions& options,
                                         const CallOptions& call) {
  RestRequest request{
      .verb = "list",
      .resource = type.plural,
      .path = WithQuery(CollectionPath(type, options.name_space), ListQuery(options))};
  ObjectList list;
  ListReader reader(PlanFor(*transport_, type, call.fields), [&](Json item) {
    Normalise(type, item);
    if (options.on_item) {
      options.on_item(std::move(item));
    } else {
      list.items.push_back(std::move(item));
    }
  });
  request.protobuf = reader.takes_protobuf();
  // A JSON list is limited like any other answer.
  const size_t limit = transport_->config().max_response_bytes;
  request.receive = [&](std::string_view chunk) { return reader.Feed(chunk, limit); };
  MUSTER_RETURN_IF_ERROR(transport_->Call(request, call.timeout).status());
  const absl::StatusOr<Json> meta = reader.Finish();
  if (!meta.ok()) return Unreadable(*transport_, request, meta.status().message());
  list.resource_version = StringAt(*meta, {"resourceVersion"});
  list.continue_token = StringAt(*meta, {"continue"});
  return list;
}

absl::StatusOr<std::unique_ptr<Watcher>> RestApi::Watch(const ResourceType& type,
                                                        const WatchOptions& options,
                                                        const CallOptions& call) {
  return RestWatcher::Open(*transport_, type, CollectionPath(type, options.name_space), options,
                           call);
}

absl::StatusOr<Json> RestApi::Create(const ResourceType& type, const Json& object,
                                     const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(std::string path, CreatePath(type, NamespaceOf(object)));
  // Strict validation makes the server reject unknown fields, most likely typos, instead of
  // dropping them silently.
  RestRequest request{.verb = "create",
                      .resource = type.plural,
                      .method = "POST",
                      .path = WithQuery(path, {{"fieldValidation", "Strict"}})};
  SetBody(*transport_, type, ProtoMessageOf(type), object, request);
  return CallForObject(*transport_, type, std::move(request), call);
}

absl::StatusOr<Json> RestApi::CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                                const std::string& subresource, const Json& object,
                                                const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(const std::string path, ObjectPath(type, key));
  return CallForJson(*transport_,
                     {.verb = "create",
                      .resource = type.plural,
                      .method = "POST",
                      .path = absl::StrCat(path, "/", subresource),
                      .body = DumpJson(object)},
                     call);
}

absl::StatusOr<Json> RestApi::Update(const ResourceType& type, const Json& object,
                                     const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(std::string path, ObjectPath(type, KeyOf(object)));
  return CallForObject(*transport_, type,
                       {.verb = "update",
                        .resource = type.plural,
                        .method = "PUT",
                        .path = std::move(path),
                        .body = BodyOf(type, object)},
                       call);
}

absl::StatusOr<Json> RestApi::UpdateStatus(const ResourceType& type, const Json& object,
                                           const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(const std::string path, ObjectPath(type, KeyOf(object)));
  return CallForObject(*transport_, type,
                       {.verb = "update_status",
                        .resource = type.plural,
                        .method = "PUT",
                        .path = path + "/status",
                        .body = BodyOf(type, object)},
                       call);
}

absl::StatusOr<Json> RestApi::Patch(const ResourceType& type, const ObjectKey& key,
                                    const Json& patch, const Preconditions& preconditions,
                                    const CallOptions& call) {
  if (!patch.is_object() || !patch.value("metadata", Json::object()).is_object()) {
    return ApiError(Reason::kBadRequest, "a patch must be a JSON object");
  }
  MUSTER_ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key));
  Json body = patch;
  body["metadata"].update(PreconditionsJson(preconditions));
  return CallForObject(*transport_, type,
                       {.verb = "patch",
                        .resource = type.plural,
                        .method = "PATCH",
                        .path = std::move(path),
                        .body = DumpJson(body),
                        .content_type = "application/merge-patch+json"},
                       call);
}

absl::Status RestApi::Delete(const ResourceType& type, const ObjectKey& key,
                             const DeleteOptions& options, const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(std::string path, ObjectPath(type, key));
  return transport_
      ->Call({.verb = "delete",
              .resource = type.plural,
              .method = "DELETE",
              .path = std::move(path),
              .body = DumpJson(DeleteBody(options))},
             call.timeout)
      .status();
}

absl::Status RestApi::Bind(const Binding& binding, const CallOptions& call) {
  MUSTER_ASSIGN_OR_RETURN(const std::string path, ObjectPath(kPods, binding.pod));
  Json meta = PreconditionsJson(binding.preconditions);
  meta["name"] = binding.pod.name;
  meta["namespace"] = binding.pod.name_space;
  if (!binding.annotations.empty()) meta["annotations"] = binding.annotations;
  Json body;
  body["metadata"] = std::move(meta);
  body["target"] = {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", binding.node}};
  RestRequest request{.verb = "bind",
                      .resource = kPods.plural,
                      .method = "POST",
                      .path = path + "/binding",
                      .protobuf = transport_->config().protobuf};
  SetBody(*transport_, kBindings, &ProtoBinding(), body, request);
  return transport_->Call(request, call.timeout).status();
}

absl::Status RestApi::ReadLog(const ObjectKey& pod, const LogOptions& options,
                              const std::function<absl::Status(std::string_view)>& receive,
                              absl::Duration timeout) {
  MUSTER_ASSIGN_OR_RETURN(const std::string path, ObjectPath(kPods, pod));
  RestRequest request{
      .verb = "get",
      .resource = "pods/log",
      .path = WithQuery(
          path + "/log",
          {{"container", options.container},
           {"follow", options.follow ? "true" : ""},
           {"timestamps", options.timestamps ? "true" : ""},
           {"sinceTime", options.since_time},
           {"tailLines", options.tail_lines < 0 ? "" : absl::StrCat(options.tail_lines)}})};
  request.receive = receive;
  return transport_->Call(std::move(request), timeout).status();
}

}  // namespace muster::kube
