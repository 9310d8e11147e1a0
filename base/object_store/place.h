#ifndef MUSTER_BASE_OBJECT_STORE_PLACE_H_
#define MUSTER_BASE_OBJECT_STORE_PLACE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Texts of manifests and flags that say where files are. file:///PATH means the path.
enum class PlaceKind {
  kPath,           // a path on the worker's machine
  kPathOrObjects,  // a path, or s3://bucket/prefix
};

// Says what is wrong with a text that is no place of this kind: it has another scheme, or what only
// a shell would expand. Any other text is a path, so it would silently become a folder of that
// name.
std::optional<std::string> WhyNoPlace(absl::string_view text, PlaceKind kind);

// The same check as a rule in CEL over `self`, and its message.
std::string PlaceRule(PlaceKind kind);
std::string PlaceMessage(PlaceKind kind);

// Returns the path of file:///PATH, and any other text as it is.
std::string WithoutFileScheme(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_PLACE_H_
