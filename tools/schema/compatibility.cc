#include "tools/schema/compatibility.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"

namespace muster::schema {
namespace {

using Changes = std::vector<std::string>;

void Say(Changes& changes, const std::string& path, const std::string& what) {
  changes.push_back(absl::StrCat(path, ": ", what));
}

// Reports a limit that is new or tighter. If `upper`, a smaller limit is tighter.
void CompareLimit(const std::string& path, const Json& before, const Json& after, const char* name,
                  bool upper, Changes& changes) {
  const Json& now = ValueField(after, name);
  const Json& was = ValueField(before, name);
  if (now.is_null()) return;
  if (was.is_null()) {
    Say(changes, path, absl::StrCat(name, " ", DumpJson(now), " is new"));
  } else if (upper ? now < was : now > was) {
    Say(changes, path,
        absl::StrCat(name, " was ", DumpJson(was), " and is ", DumpJson(now), " now"));
  }
}

void CompareLimits(const std::string& path, const Json& before, const Json& after,
                   Changes& changes) {
  for (const char* name : {"maximum", "maxLength", "maxItems", "maxProperties"}) {
    CompareLimit(path, before, after, name, true, changes);
  }
  for (const char* name : {"minimum", "minLength", "minItems", "minProperties"}) {
    CompareLimit(path, before, after, name, false, changes);
  }
  for (const char* name : {"exclusiveMinimum", "exclusiveMaximum"}) {
    if (ValueField(after, name) == Json(true) && ValueField(before, name) != Json(true)) {
      Say(changes, path, absl::StrCat(name, " is new"));
    }
  }
}

// New fields in a default object are compatible, because the API server fills in their own defaults
// anyway.
bool KeepsDefault(const Json& was, const Json& now) {
  if (!was.is_object() || !now.is_object()) return was == now;
  for (const auto& [name, value] : was.items()) {
    if (!now.contains(name) || !KeepsDefault(value, now[name])) return false;
  }
  return true;
}

// Reports changes of attributes that must stay verbatim, because both a stricter and a laxer value
// would change their meaning.
void CompareFixed(const std::string& path, const Json& before, const Json& after,
                  Changes& changes) {
  for (const char* name :
       {"type", "format", "default", "nullable", "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"}) {
    const Json& was = ValueField(before, name);
    const Json& now = ValueField(after, name);
    if (was == now || (was.is_object() && KeepsDefault(was, now))) continue;
    Say(changes, path,
        absl::StrCat(name, " was ", was.is_null() ? "unset" : DumpJson(was), " and is ",
                     now.is_null() ? "unset" : DumpJson(now), " now"));
  }
}

void CompareValues(const std::string& path, const Json& before, const Json& after,
                   Changes& changes) {
  const Json& was = ValueField(before, "enum");
  const Json& now = ValueField(after, "enum");
  if (!now.is_null() && was.is_null()) Say(changes, path, "an enum is new");
  if (!now.is_null() && !was.is_null()) {
    for (const Json& value : was) {
      if (std::find(now.begin(), now.end(), value) == now.end()) {
        Say(changes, path, absl::StrCat("the value ", DumpJson(value), " was removed"));
      }
    }
  }
  const Json& pattern = ValueField(after, "pattern");
  if (!pattern.is_null() && pattern != ValueField(before, "pattern")) {
    Say(changes, path, absl::StrCat("the pattern ", DumpJson(pattern), " is new"));
  }
}

std::set<std::string> NewFields(const Json& before, const Json& after) {
  std::set<std::string> fields;
  for (const auto& [name, schema] : ValueField(after, "properties").items()) {
    if (!ValueField(before, "properties").contains(name)) fields.insert(name);
  }
  return fields;
}

void CompareRules(const std::string& path, const Json& before, const Json& after,
                  Changes& changes) {
  std::set<std::string> known;
  for (const Json& rule : ValueField(before, "x-kubernetes-validations")) {
    known.insert(rule.value("rule", ""));
  }
  const std::set<std::string> new_fields = NewFields(before, after);
  for (const Json& rule : ValueField(after, "x-kubernetes-validations")) {
    const std::string text = rule.value("rule", "");
    const bool about_new =
        std::any_of(new_fields.begin(), new_fields.end(), [&](const std::string& field) {
          return text.find(absl::StrCat("self.", field)) != std::string::npos;
        });
    if (known.count(text) == 0 && !about_new) {
      Say(changes, path, absl::StrCat("the rule `", text, "` is new"));
    }
  }
}

void CompareRequired(const std::string& path, const Json& before, const Json& after,
                     Changes& changes) {
  const Json& was = ValueField(before, "required");
  for (const Json& name : ValueField(after, "required")) {
    if (!was.is_null() && std::find(was.begin(), was.end(), name) != was.end()) continue;
    const Json& field =
        ValueField(ValueField(after, "properties"), name.get_ref<const std::string&>());
    if (ValueField(field, "default").is_null()) {
      Say(changes, absl::StrCat(path, ".", name.get<std::string>()), "is required now");
    }
  }
}

void CompareSchema(const std::string& path, const Json& before, const Json& after,
                   Changes& changes) {
  CompareFixed(path, before, after, changes);
  CompareLimits(path, before, after, changes);
  CompareValues(path, before, after, changes);
  CompareRules(path, before, after, changes);
  CompareRequired(path, before, after, changes);
  for (const auto& [name, schema] : ValueField(before, "properties").items()) {
    const std::string field = absl::StrCat(path, ".", name);
    const Json& now = ValueField(ValueField(after, "properties"), name);
    if (now.is_null()) {
      Say(changes, field, "was removed");
    } else {
      CompareSchema(field, schema, now, changes);
    }
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (!ValueField(before, inner).is_object()) continue;
    if (ValueField(after, inner).is_object()) {
      CompareSchema(path + "[]", ValueField(before, inner), ValueField(after, inner), changes);
    } else {
      Say(changes, path, absl::StrCat(inner, " were removed"));
    }
  }
}

const Json* FindVersion(const Json& crd, const std::string& name) {
  for (const Json& version : ValueField(ValueField(crd, "spec"), "versions")) {
    if (version.value("name", "") == name) return &version;
  }
  return nullptr;
}

void CompareVersion(const Json& before, const Json& after, Changes& changes) {
  const std::string name = before.value("name", "");
  if (before.value("served", false) && !after.value("served", false)) {
    Say(changes, name, "is not served any more");
  }
  if (ValueField(before, "subresources") != ValueField(after, "subresources")) {
    Say(changes, name, "its subresources changed");
  }
  CompareSchema(name, ValueField(ValueField(before, "schema"), "openAPIV3Schema"),
                ValueField(ValueField(after, "schema"), "openAPIV3Schema"), changes);
}

}  // namespace

std::vector<std::string> BreakingChanges(const Json& before, const Json& after) {
  Changes changes;
  for (const char* fixed : {"group", "scope"}) {
    if (ValueField(ValueField(before, "spec"), fixed) !=
        ValueField(ValueField(after, "spec"), fixed)) {
      Say(changes, fixed, "changed");
    }
  }
  const Json& names = ValueField(ValueField(before, "spec"), "names");
  for (const auto& [kind, name] : names.items()) {
    if (kind != "categories" &&
        ValueField(ValueField(ValueField(after, "spec"), "names"), kind) != name) {
      Say(changes, absl::StrCat("names.", kind), "changed");
    }
  }
  for (const Json& version : ValueField(ValueField(before, "spec"), "versions")) {
    const std::string name = version.value("name", "");
    if (const Json* now = FindVersion(after, name); now != nullptr) {
      CompareVersion(version, *now, changes);
    } else {
      Say(changes, name, "the version was removed");
    }
  }
  return changes;
}

}  // namespace muster::schema
