#include "operator/api/training_job.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/field_error.h"
#include "operator/api/codec.h"
#include "operator/api/schema.h"

namespace muster::control {
namespace {

// Lists the fields of Kubernetes' ObjectMeta. MetadataReader reads only some of them.
const std::vector<std::string>& MetadataFields() {
  static const auto& fields = *new std::vector<std::string>{
      "name",          "namespace",         "labels",
      "annotations",   "finalizers",        "uid",
      "generation",    "resourceVersion",   "creationTimestamp",
      "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds",
      "generateName",  "ownerReferences",   "selfLink"};
  return fields;
}

// Reads metadata by hand: it is Kubernetes' own type and not in training_job.proto.
class MetadataReader {
 public:
  MetadataReader(const Json& metadata, FieldErrors& errors)
      : metadata_(metadata), errors_(errors) {}

  void Read(TrainingJob& job) {
    String("name", job.name);
    String("namespace", job.ns);
    String("uid", job.uid);
    String("resourceVersion", job.resource_version);
    StringMap("labels", job.labels);
    StringMap("annotations", job.annotations);
    Time("creationTimestamp", job.creation_time);
    Time("deletionTimestamp", job.deletion_time);
    if (const Json* value = Find("generation")) {
      if (!value->is_number_integer()) return Add("generation", "an integer", *value);
      job.generation = value->get<int64_t>();
    }
    if (const Json* value = Find("finalizers")) Strings("finalizers", *value, job.finalizers);
  }

 private:
  const Json* Find(const char* name) const {
    const auto found = metadata_.find(name);
    return found == metadata_.end() || found->is_null() ? nullptr : &*found;
  }

  void Add(const std::string& field, const char* want, const Json& got) {
    errors_.push_back(
        {absl::StrCat("metadata.", field), absl::StrCat("want ", want, ", got ", Describe(got))});
  }

  void String(const char* name, std::string& out) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_string()) return Add(name, "a string", *value);
    out = value->get<std::string>();
  }

  void Strings(const char* name, const Json& value, std::vector<std::string>& out) {
    if (!value.is_array()) return Add(name, "a list", value);
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_string()) {
        out.push_back(value[i].get<std::string>());
      } else {
        Add(ItemPath(name, i), "a string", value[i]);
      }
    }
  }

  void StringMap(const char* name, std::map<std::string, std::string>& out) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_object()) return Add(name, "an object", *value);
    for (const auto& [key, item] : value->items()) {
      if (item.is_string()) {
        out[key] = item.get<std::string>();
      } else {
        Add(FieldPath(name, key), "a string", item);
      }
    }
  }

  void Time(const char* name, std::optional<absl::Time>& out) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    absl::StatusOr<absl::Time> time =
        ParseTimestamp(value->is_string() ? value->get<std::string>() : "");
    if (!time.ok()) return Add(name, "a time like 2024-01-31T12:00:00Z", *value);
    out = *time;
  }

  const Json& metadata_;
  FieldErrors& errors_;
};

void ReportUnknown(const Json& object, absl::string_view path,
                   const std::vector<std::string>& known, FieldErrors& errors) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = Nearest(name, known);
    errors.push_back(
        {FieldPath(path, name), nearest.empty()
                                    ? "unknown field"
                                    : absl::StrCat("unknown field; did you mean ", nearest, "?")});
  }
}

// Checks that `apiVersion` or `kind` is there and has the value `want`.
void CheckWord(const Json& json, const char* name, const char* want, FieldErrors& errors) {
  const auto found = json.find(name);
  if (found == json.end()) {
    errors.push_back({name, absl::StrCat("is required and missing; want ", want)});
  } else if (*found != want) {
    errors.push_back({name, absl::StrCat("want ", want, ", got ", Describe(*found))});
  }
}

void Append(FieldErrors more, FieldErrors& errors) {
  for (FieldError& error : more) errors.push_back(std::move(error));
}

template <class T>
void SetOrErase(Json& object, const char* name, const T& value, bool present) {
  if (present) {
    object[name] = value;
  } else {
    object.erase(name);
  }
}

Json MetadataToJson(const TrainingJob& job, Json metadata) {
  SetOrErase(metadata, "name", job.name, !job.name.empty());
  SetOrErase(metadata, "namespace", job.ns, !job.ns.empty());
  SetOrErase(metadata, "uid", job.uid, !job.uid.empty());
  SetOrErase(metadata, "resourceVersion", job.resource_version, !job.resource_version.empty());
  SetOrErase(metadata, "generation", job.generation, job.generation > 0);
  SetOrErase(metadata, "labels", job.labels, !job.labels.empty());
  SetOrErase(metadata, "annotations", job.annotations, !job.annotations.empty());
  SetOrErase(metadata, "finalizers", job.finalizers, !job.finalizers.empty());
  const auto time = [&metadata](const char* name, const std::optional<absl::Time>& value) {
    SetOrErase(metadata, name, value ? FormatTimestamp(*value) : "", value.has_value());
  };
  time("creationTimestamp", job.creation_time);
  time("deletionTimestamp", job.deletion_time);
  return metadata;
}

// Decodes all fields except `raw`.
FieldErrors DecodeFields(const Json& json, UnknownFields unknown, TrainingJob& job) {
  if (!json.is_object()) {
    return {{"", absl::StrCat("want a TrainingJob, got ", Describe(json))}};
  }
  FieldErrors errors;
  CheckWord(json, "apiVersion", kApiVersion, errors);
  CheckWord(json, "kind", kTrainingJobKind, errors);
  // The other errors of an object of another kind would only hide this one.
  if (!errors.empty() && json.contains("kind") && json["kind"] != kTrainingJobKind) return errors;
  const bool strict = unknown == UnknownFields::kReport;
  if (strict) {
    ReportUnknown(json, "", {"apiVersion", "kind", "metadata", "spec", "status"}, errors);
  }
  const auto part = [&json](const char* name) {
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
  };
  if (const Json* metadata = part("metadata"); metadata != nullptr && metadata->is_object()) {
    if (strict) ReportUnknown(*metadata, "metadata", MetadataFields(), errors);
    MetadataReader(*metadata, errors).Read(job);
  } else if (metadata != nullptr) {
    errors.push_back({"metadata", absl::StrCat("want an object, got ", Describe(*metadata))});
  }
  if (const Json* spec = part("spec")) {
    Append(DecodeMessage(*spec, "spec", unknown, job.spec), errors);
  }
  if (const Json* status = part("status")) {
    Append(DecodeMessage(*status, "status", UnknownFields::kIgnore, job.status), errors);
  }
  return errors;
}

}  // namespace

FieldErrors DecodeTrainingJob(const Json& json, UnknownFields unknown, TrainingJob& job) {
  job = TrainingJob();
  FieldErrors errors = DecodeFields(json, unknown, job);
  if (json.is_object()) job.raw = json;
  return errors;
}

absl::StatusOr<TrainingJob> ParseTrainingJob(Json json) {
  TrainingJob job;
  const FieldErrors errors = DecodeFields(json, UnknownFields::kIgnore, job);
  if (!errors.empty()) return ToStatus(errors);
  job.raw = std::move(json);
  return job;
}

Json ToJson(const TrainingJob& job) {
  Json out = job.raw.is_object() ? job.raw : Json::object();
  const auto before = [&out](const char* name) {
    const auto found = out.find(name);
    return found != out.end() && found->is_object() ? *found : Json::object();
  };
  out["apiVersion"] = kApiVersion;
  out["kind"] = kTrainingJobKind;
  out["metadata"] = MetadataToJson(job, before("metadata"));
  out["spec"] = EncodeMessage(job.spec, before("spec"));
  Json status = EncodeMessage(job.status, before("status"));
  if (!status.empty() || out.contains("status")) out["status"] = std::move(status);
  return out;
}

Json StatusToJson(const TrainingJob& job, const v1alpha1::TrainingJobStatus& status,
                  const std::string& version) {
  const auto raw = job.raw.find("status");
  const bool known = raw != job.raw.end() && raw->is_object();
  return {
      {"apiVersion", kApiVersion},
      {"kind", kTrainingJobKind},
      {"metadata",
       {{"name", job.name}, {"namespace", job.ns}, {"uid", job.uid}, {"resourceVersion", version}}},
      {"status", known ? EncodeMessage(status, *raw) : EncodeMessage(status)}};
}

std::string FormatTimestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

absl::StatusOr<absl::Time> ParseTimestamp(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not an RFC 3339 time: ", error));
  }
  return time;
}

}  // namespace muster::control
