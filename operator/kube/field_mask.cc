#include "operator/kube/field_mask.h"

#include <optional>
#include <utility>

namespace muster::kube {
namespace {

// Removes and returns the first segment of `path`.
std::string_view TakeSegment(std::string_view& path) {
  const bool bracketed = path.starts_with('[');
  const size_t end = bracketed ? path.find(']') : path.find_first_of(".[");
  std::string_view segment = path.substr(0, end);
  path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  if (bracketed) {
    segment.remove_prefix(1);
    path.remove_prefix(path.empty() ? 0 : 1);
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  return segment;
}

// Returns nothing if the mask selects nothing of `value`.
std::optional<Json> Selected(const FieldMask::Node& node, const Json& value) {
  if (node.whole) return value;
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) {
      if (std::optional<Json> part = Selected(node, item)) list.push_back(*std::move(part));
    }
    return list.empty() ? std::nullopt : std::optional<Json>(std::move(list));
  }
  if (!value.is_object()) return std::nullopt;
  Json object = Json::object();
  for (const auto& [name, child] : node.children) {
    const auto field = value.find(name);
    if (field == value.end()) continue;
    if (std::optional<Json> part = Selected(child, *field)) object[name] = *std::move(part);
  }
  return object.empty() ? std::nullopt : std::optional<Json>(std::move(object));
}

}  // namespace

FieldMask::FieldMask(const std::vector<std::string_view>& paths) {
  for (const char* path : {"apiVersion", "kind", "metadata.name", "metadata.namespace",
                           "metadata.uid", "metadata.resourceVersion",
                           // Marks the bookmark after a streamed list.
                           "metadata.annotations[k8s.io/initial-events-end]"}) {
    Add(path);
  }
  for (const std::string_view path : paths) Add(path);
}

void FieldMask::Add(std::string_view path) {
  Node* node = &root_;
  while (!path.empty() && !node->whole) node = &node->children[std::string(TakeSegment(path))];
  node->whole = true;
  node->children.clear();
}

Json FieldMask::Select(const Json& object) const {
  return Selected(root_, object).value_or(Json::object());
}

Json SelectFields(const FieldMask* fields, const Json& object) {
  return fields == nullptr ? object : fields->Select(object);
}

const FieldMask& IdentityFields() {
  static const FieldMask* const mask = new FieldMask({});
  return *mask;
}

}  // namespace muster::kube
