#include "operator/kube/proto/proto_object.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/wire_reader.h"
#include "simdjson.h"

namespace muster::kube {
namespace {

using Kind = ProtoField::Kind;

constexpr std::string_view kMagic("k8s\0", 4);
// The range of an API server's Time: the years 1 to 9999.
constexpr int64_t kFirstSecond = -62'135'596'800;
constexpr int64_t kLastSecond = 253'402'300'799;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("a damaged protobuf ", std::string(what)));
}

bool IsText(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

// Reads a message of one string, which is empty if absent.
bool ReadText(std::string_view message, std::string_view& text) {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.number == 1 && field.is_bytes) text = field.bytes;
  }
  return reader.ok() && IsText(text);
}

bool ReadTime(std::string_view message, std::optional<Json>& value) {
  int64_t seconds = 0;
  bool set = false;
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.number != 1 || field.is_bytes) continue;
    seconds = static_cast<int64_t>(field.integer);
    set = true;
  }
  if (!reader.ok() || seconds < kFirstSecond || seconds > kLastSecond) return false;
  if (set) value = kube::FormatTime(absl::FromUnixSeconds(seconds));
  return true;
}

bool ReadEntry(std::string_view message, Kind kind, const std::vector<std::string>& keys,
               Json& map) {
  std::string_view key;
  std::string_view value;
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.number == 1 && field.is_bytes) key = field.bytes;
    if (field.number == 2 && field.is_bytes) value = field.bytes;
  }
  if (!reader.ok() || !IsText(key)) return false;
  if (!keys.empty() && std::find(keys.begin(), keys.end(), key) == keys.end()) return true;
  std::string_view text = value;
  if (kind == Kind::kQuantities && !ReadText(value, text = {})) return false;
  if (!IsText(text)) return false;
  map[std::string(key)] = std::string(text);
  return true;
}

bool IsMap(Kind kind) { return kind == Kind::kStrings || kind == Kind::kQuantities; }

bool IsInteger(Kind kind) { return kind == Kind::kInt || kind == Kind::kBool; }

}  // namespace

std::unique_ptr<ProtoPlan> ProtoPlan::Make(const FieldMask::Node& fields,
                                           const ProtoMessage& message) {
  if (fields.whole) return message.complete ? Make(message) : nullptr;
  auto plan = std::make_unique<ProtoPlan>();
  for (const auto& [name, wanted] : fields.children) {
    const bool around = name == "apiVersion" || name == "kind";
    if (!plan->AddNamed(message, name, wanted) && !(around && wanted.whole)) return nullptr;
  }
  return plan;
}

// Adds the message's field of this name, or that of an inlined message.
bool ProtoPlan::AddNamed(const ProtoMessage& message, const std::string& name,
                         const FieldMask::Node& wanted) {
  for (const ProtoField& field : message) {
    if (field.name == name) return Add(field, wanted);
    if (!field.name.empty()) continue;
    auto below = std::make_unique<ProtoPlan>();
    if (!below->AddNamed(*field.message, name, wanted)) continue;
    if (steps_.size() <= field.number) steps_.resize(field.number + 1);
    Step& step = steps_[field.number];
    if (step.field == nullptr) step = {&field, std::make_unique<ProtoPlan>(), {}};
    return step.below->AddNamed(*field.message, name, wanted);
  }
  return false;
}

std::unique_ptr<ProtoPlan> ProtoPlan::Make(const ProtoMessage& whole) {
  auto plan = std::make_unique<ProtoPlan>();
  for (const ProtoField& field : whole) {
    if (!plan->Add(field, {.whole = true})) return nullptr;
  }
  return plan;
}

bool ProtoPlan::Add(const ProtoField& field, const FieldMask::Node& wanted) {
  Step step{&field};
  if (field.kind == Kind::kMessage) {
    step.below = Make(wanted, *field.message);
    if (step.below == nullptr) return false;
  } else if (!wanted.whole) {
    if (!IsMap(field.kind)) return false;
    for (const auto& [key, value] : wanted.children) {
      if (!value.whole) return false;
      step.keys.push_back(key);
    }
  }
  if (steps_.size() <= field.number) steps_.resize(field.number + 1);
  steps_[field.number] = std::move(step);
  return true;
}

// Reads one entry of a map.
bool ProtoPlan::ReadMap(const Step& step, std::string_view entry, Json& object) {
  const std::string name(step.field->name);
  const auto known = object.find(name);
  if (known != object.end()) return ReadEntry(entry, step.field->kind, step.keys, *known);
  Json map = Json::object();
  if (!ReadEntry(entry, step.field->kind, step.keys, map)) return false;
  if (!map.empty()) object[name] = std::move(map);
  return true;
}

bool ProtoPlan::ReadField(const Step& step, uint64_t integer, std::string_view bytes,
                          Json& object) {
  const ProtoField& field = *step.field;
  const std::string name(field.name);
  std::optional<Json> value;
  switch (field.kind) {
    case Kind::kInt:
      if (integer != 0 || field.keeps_zero) value = static_cast<int64_t>(integer);
      break;
    case Kind::kBool:
      if (integer != 0 || field.keeps_zero) value = integer != 0;
      break;
    case Kind::kQuantity:
    case Kind::kString: {
      std::string_view text = bytes;
      if (field.kind == Kind::kQuantity && !ReadText(bytes, text = {})) return false;
      if (!IsText(text)) return false;
      if (!text.empty() || field.repeated) value = std::string(text);
      break;
    }
    case Kind::kTime:
      if (!ReadTime(bytes, value)) return false;
      break;
    case Kind::kStrings:
    case Kind::kQuantities:
      return ReadMap(step, bytes, object);
    case Kind::kMessage: {
      if (name.empty()) return step.below->ReadInto(bytes, object);
      Json below = Json::object();
      if (!step.below->ReadInto(bytes, below)) return false;
      if (!below.empty() || field.keeps_zero) value = std::move(below);
      break;
    }
  }
  if (!value.has_value()) return true;
  if (field.repeated) {
    object[name].push_back(*std::move(value));
  } else {
    object[name] = *std::move(value);
  }
  return true;
}

bool ProtoPlan::ReadInto(std::string_view message, Json& object) const {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.number >= steps_.size() || steps_[field.number].field == nullptr) continue;
    const Step& step = steps_[field.number];
    if (field.is_bytes == IsInteger(step.field->kind)) return false;
    if (!ReadField(step, field.integer, field.bytes, object)) return false;
  }
  return reader.ok();
}

absl::StatusOr<Json> ProtoPlan::Read(std::string_view message) const {
  Json object = Json::object();
  if (!ReadInto(message, object)) return Damaged("object");
  return object;
}

bool IsProto(std::string_view body) { return body.starts_with(kMagic); }

absl::StatusOr<ProtoEnvelope> OpenEnvelope(std::string_view body) {
  if (!IsProto(body)) return Damaged("envelope");
  ProtoEnvelope envelope;
  WireReader reader(body.substr(kMagic.size()));
  for (WireField field; reader.Next(field);) {
    if (!field.is_bytes) continue;
    if (field.number == 2) envelope.object = field.bytes;
    if (field.number != 1) continue;
    WireReader type(field.bytes);
    for (WireField part; type.Next(part);) {
      if (part.number == 2 && part.is_bytes) envelope.kind = part.bytes;
    }
    if (!type.ok()) return Damaged("envelope");
  }
  if (!reader.ok()) return Damaged("envelope");
  return envelope;
}

absl::StatusOr<Json> ReadProtoStatus(std::string_view body) {
  static const ProtoPlan* const plan = ProtoPlan::Make(ProtoStatus()).release();
  MUSTER_ASSIGN_OR_RETURN(const ProtoEnvelope envelope, OpenEnvelope(body));
  MUSTER_ASSIGN_OR_RETURN(Json status, plan->Read(envelope.object));
  status["kind"] = std::string(envelope.kind);
  return status;
}

}  // namespace muster::kube
