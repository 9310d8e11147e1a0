#include "operator/api/codec.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/object_store/place.h"
#include "google/protobuf/descriptor.h"
#include "operator/api/schema.h"

namespace muster::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Beyond this value a double no longer holds every integer.
constexpr double kMaxExactInteger = 9007199254740992.0;

std::optional<int64_t> AsInteger(const Json& json) {
  if (json.is_number_unsigned()) {
    const uint64_t value = json.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) {
    const double value = json.get<double>();
    if (std::trunc(value) == value && std::abs(value) <= kMaxExactInteger) {
      return static_cast<int64_t>(value);
    }
  }
  return std::nullopt;
}

class Decoder {
 public:
  explicit Decoder(UnknownFields unknown) : unknown_(unknown) {}

  void DecodeObject(const Json& json, const std::string& path, Message& message) {
    const Descriptor& descriptor = *message.GetDescriptor();
    if (!json.is_object()) {
      Add(path, "an object", json);
      return;
    }
    if (IsRaw(descriptor)) {
      message.GetReflection()->SetString(&message, &RawField(descriptor), DumpJson(json));
      return;
    }
    for (const auto& [name, value] : json.items()) {
      const FieldDescriptor* field = FindField(descriptor, name);
      if (field == nullptr) {
        AddUnknown(path, name, descriptor);
      } else if (!value.is_null()) {
        DecodeField(value, FieldPath(path, name), *field, message);
      }
    }
  }

  FieldErrors Take() { return std::move(errors_); }

 private:
  static const FieldDescriptor* FindField(const Descriptor& descriptor, const std::string& name) {
    for (int i = 0; i < descriptor.field_count(); ++i) {
      if (descriptor.field(i)->json_name() == name) return descriptor.field(i);
    }
    return nullptr;
  }

  void Add(const std::string& path, absl::string_view want, const Json& got) {
    errors_.push_back({path, absl::StrCat("want ", want, ", got ", Describe(got))});
  }

  void AddUnknown(const std::string& path, const std::string& name, const Descriptor& descriptor) {
    if (unknown_ == UnknownFields::kIgnore) return;
    const std::vector<std::string> known = FieldNames(descriptor);
    const std::string nearest = Nearest(name, known);
    errors_.push_back({FieldPath(path, name),
                       nearest.empty()
                           ? absl::StrCat("unknown field; the fields here are ", JoinAnd(known))
                           : absl::StrCat("unknown field; did you mean ", nearest, "?")});
  }

  static std::string JoinAnd(const std::vector<std::string>& names) {
    std::string out;
    for (size_t i = 0; i < names.size(); ++i) {
      absl::StrAppend(&out, i == 0 ? "" : (i + 1 == names.size() ? " and " : ", "), names[i]);
    }
    return out;
  }

  void DecodeField(const Json& json, const std::string& path, const FieldDescriptor& field,
                   Message& message) {
    const Reflection& reflection = *message.GetReflection();
    if (!field.is_repeated()) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        DecodeObject(json, path, *reflection.MutableMessage(&message, &field));
      } else {
        DecodeScalar(json, path, field, message);
      }
      return;
    }
    if (!json.is_array()) {
      Add(path, "a list", json);
      return;
    }
    for (size_t i = 0; i < json.size(); ++i) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        DecodeObject(json[i], ItemPath(path, i), *reflection.AddMessage(&message, &field));
      } else {
        DecodeScalar(json[i], ItemPath(path, i), field, message);
      }
    }
  }

  void DecodeScalar(const Json& json, const std::string& path, const FieldDescriptor& field,
                    Message& message) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (!json.is_string()) return Add(path, "a string", json);
        return SetString(field, TextOf(field, json), message);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!json.is_boolean()) return Add(path, "true or false", json);
        return message.GetReflection()->SetBool(&message, &field, json.get<bool>());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        if (!json.is_number()) return Add(path, "a number", json);
        return message.GetReflection()->SetDouble(&message, &field, json.get<double>());
      default:
        return DecodeInteger(json, path, field, message);
    }
  }

  static std::string TextOf(const FieldDescriptor& field, const Json& json) {
    std::string text = json.get<std::string>();
    return PlaceOf(SchemaOf(field)).has_value() ? WithoutFileScheme(text) : std::move(text);
  }

  static void SetString(const FieldDescriptor& field, std::string value, Message& message) {
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) {
      reflection.AddString(&message, &field, std::move(value));
    } else {
      reflection.SetString(&message, &field, std::move(value));
    }
  }

  void DecodeInteger(const Json& json, const std::string& path, const FieldDescriptor& field,
                     Message& message) {
    const std::optional<int64_t> value = AsInteger(json);
    if (!value.has_value()) return Add(path, "an integer", json);
    const Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      return reflection.SetInt64(&message, &field, *value);
    }
    if (*value != static_cast<int32_t>(*value)) return Add(path, "an integer of 32 bits", json);
    if (field.is_repeated()) {
      reflection.AddInt32(&message, &field, static_cast<int32_t>(*value));
    } else {
      reflection.SetInt32(&message, &field, static_cast<int32_t>(*value));
    }
  }

  const UnknownFields unknown_;
  FieldErrors errors_;
};

Json Overlay(const Message& message, const Json& original);

// Encodes one value; `index` is -1 for a singular field. Returns null for a number that JSON cannot
// hold.
Json EncodeScalar(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return one ? reflection.GetString(message, &field)
                 : reflection.GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = reflection.GetDouble(message, &field);
      return std::isfinite(value) ? Json(value) : Json();
    }
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? reflection.GetInt32(message, &field)
                 : reflection.GetRepeatedInt32(message, &field, index);
    default:
      return reflection.GetInt64(message, &field);
  }
}

Json EncodeList(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  Json list = Json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    list.push_back(field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                       ? Overlay(reflection.GetRepeatedMessage(message, &field, i), Json())
                       : EncodeScalar(message, field, i));
  }
  return list;
}

const Json& Nothing() {
  static const auto& nothing = *new Json();
  return nothing;
}

// Returns `original` as it would be encoded after being decoded.
Json Canonical(const Json& original, const FieldDescriptor& field, const Message& message) {
  const std::unique_ptr<Message> fresh(message.New());
  Decoder decoder(UnknownFields::kIgnore);
  decoder.DecodeObject(Json{{field.json_name(), original}}, "", *fresh);
  return EncodeList(*fresh, field);
}

void OverlayField(const Message& message, const FieldDescriptor& field, Json& out) {
  const Reflection& reflection = *message.GetReflection();
  const std::string& name = field.json_name();
  const auto found = out.find(name);
  const Json& before = found == out.end() ? Nothing() : *found;
  if (field.is_repeated()) {
    Json list = EncodeList(message, field);
    if (before.is_array() && Canonical(before, field, message) == list) return;
    if (list.empty()) {
      out.erase(name);
    } else {
      out[name] = std::move(list);
    }
    return;
  }
  Json value;
  if (reflection.HasField(message, &field)) {
    value = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                ? Overlay(reflection.GetMessage(message, &field), before)
                : EncodeScalar(message, field, -1);
  }
  if (value == before) return;
  if (value.is_null()) {
    out.erase(name);
  } else {
    out[name] = std::move(value);
  }
}

Json Overlay(const Message& message, const Json& original) {
  const Descriptor& descriptor = *message.GetDescriptor();
  if (IsRaw(descriptor)) {
    const absl::StatusOr<Json> raw =
        ParseJson(message.GetReflection()->GetString(message, &RawField(descriptor)));
    return raw.ok() && raw->is_object() ? *raw : Json::object();
  }
  Json out = original.is_object() ? original : Json::object();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    OverlayField(message, *descriptor.field(i), out);
  }
  return out;
}

}  // namespace

FieldErrors DecodeMessage(const Json& json, absl::string_view path, UnknownFields unknown,
                          Message& message) {
  message.Clear();
  Decoder decoder(unknown);
  decoder.DecodeObject(json, std::string(path), message);
  return decoder.Take();
}

Json EncodeMessage(const Message& message) { return Overlay(message, Json()); }

Json EncodeMessage(const Message& message, const Json& original) {
  return Overlay(message, original);
}

}  // namespace muster::control
