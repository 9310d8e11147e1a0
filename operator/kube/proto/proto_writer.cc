#include "operator/kube/proto/proto_writer.h"

#include <cstdint>
#include <limits>
#include <map>

#include "simdjson.h"

namespace muster::kube {
namespace {

using Kind = ProtoField::Kind;

constexpr std::string_view kMagic("k8s\0", 4);

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void PutInt(std::string& out, uint32_t number, int64_t value) {
  PutVarint(out, uint64_t{number} << 3);
  PutVarint(out, static_cast<uint64_t>(value));
}

void PutBytes(std::string& out, uint32_t number, std::string_view bytes) {
  PutVarint(out, uint64_t{number} << 3 | 2);
  PutVarint(out, bytes.size());
  out.append(bytes);
}

// Returns null if `value` is not a string of valid UTF-8.
const std::string* TextOf(const Json& value) {
  if (!value.is_string()) return nullptr;
  const auto& text = value.get_ref<const std::string&>();
  return simdjson::validate_utf8(text) ? &text : nullptr;
}

std::string QuantityOf(std::string_view text) {
  std::string message;
  PutBytes(message, 1, text);
  return message;
}

bool WriteMap(const ProtoField& field, const Json& map, std::string& out) {
  if (!map.is_object()) return false;
  for (const auto& [key, value] : map.items()) {
    const std::string* text = TextOf(value);
    if (text == nullptr || !simdjson::validate_utf8(key)) return false;
    std::string entry;
    PutBytes(entry, 1, key);
    PutBytes(entry, 2, field.kind == Kind::kQuantities ? QuantityOf(*text) : *text);
    PutBytes(out, field.number, entry);
  }
  return true;
}

// Returns true for an int32. Wider integers of the schema are held to the same range.
bool Fits32Bits(const Json& value) {
  using Limits = std::numeric_limits<int32_t>;
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= uint64_t{Limits::max()};
  return value.get<int64_t>() >= Limits::min() && value.get<int64_t>() <= Limits::max();
}

bool WriteMessage(const Json& object, const ProtoMessage& message, bool top, std::string& out);

bool WriteOne(const ProtoField& field, const Json& value, std::string& out) {
  switch (field.kind) {
    case Kind::kInt:
      if (!Fits32Bits(value)) return false;
      PutInt(out, field.number, value.get<int64_t>());
      return true;
    case Kind::kBool:
      if (!value.is_boolean()) return false;
      PutInt(out, field.number, value.get<bool>() ? 1 : 0);
      return true;
    case Kind::kString:
    case Kind::kQuantity: {
      const std::string* text = TextOf(value);
      if (text == nullptr) return false;
      PutBytes(out, field.number, field.kind == Kind::kQuantity ? QuantityOf(*text) : *text);
      return true;
    }
    case Kind::kStrings:
    case Kind::kQuantities:
      return WriteMap(field, value, out);
    case Kind::kMessage: {
      std::string below;
      if (!value.is_object() || !WriteMessage(value, *field.message, false, below)) return false;
      PutBytes(out, field.number, below);
      return true;
    }
    case Kind::kTime:
      return false;
  }
  return false;
}

bool WriteField(const ProtoField& field, const Json& value, std::string& out) {
  if (value.is_null()) return true;  // the same as absent
  if (!field.repeated) return WriteOne(field, value, out);
  if (!value.is_array()) return false;
  for (const Json& item : value) {
    if (item.is_null() || !WriteOne(field, item, out)) return false;
  }
  return true;
}

const ProtoField* FindField(const ProtoMessage& message, std::string_view name) {
  for (const ProtoField& field : message) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Returns the inlined field whose message has a field of this name.
const ProtoField* FindInlined(const ProtoMessage& message, std::string_view name) {
  for (const ProtoField& field : message) {
    if (field.name.empty() && FindField(*field.message, name) != nullptr) return &field;
  }
  return nullptr;
}

bool WriteMessage(const Json& object, const ProtoMessage& message, bool top, std::string& out) {
  std::map<uint32_t, std::string> inlined;
  for (const auto& [name, value] : object.items()) {
    if (top && (name == "apiVersion" || name == "kind")) continue;
    if (const ProtoField* field = FindField(message, name); field != nullptr) {
      if (!WriteField(*field, value, out)) return false;
      continue;
    }
    const ProtoField* around = FindInlined(message, name);
    if (around == nullptr) return false;
    const ProtoField& field = *FindField(*around->message, name);
    if (!WriteField(field, value, inlined[around->number])) return false;
  }
  for (const auto& [number, bytes] : inlined) PutBytes(out, number, bytes);
  return true;
}

}  // namespace

std::optional<std::string> WriteProto(const Json& object, const ProtoMessage& message) {
  std::string out;
  if (!object.is_object() || !WriteMessage(object, message, true, out)) return std::nullopt;
  return out;
}

std::optional<std::string> WriteProtoEnvelope(std::string_view api_version, std::string_view kind,
                                              const Json& object, const ProtoMessage& message) {
  const std::optional<std::string> bytes = WriteProto(object, message);
  if (!bytes) return std::nullopt;
  std::string type;
  PutBytes(type, 1, api_version);
  PutBytes(type, 2, kind);
  std::string envelope(kMagic);
  PutBytes(envelope, 1, type);
  PutBytes(envelope, 2, *bytes);
  return envelope;
}

}  // namespace muster::kube
