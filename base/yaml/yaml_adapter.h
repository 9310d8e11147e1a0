#ifndef MUSTER_BASE_YAML_YAML_ADAPTER_H_
#define MUSTER_BASE_YAML_YAML_ADAPTER_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/json.h"

namespace muster {

// Converts untrusted YAML text to JSON, with the line of every value. The only place that includes
// yaml-cpp and catches its exceptions. Scalars follow YAML 1.2's core schema (quoted ones stay
// strings, `yes` is a string, 3.0e-4 a number), except that numbers with leading zeros stay
// strings. Stateless; thread-safe.

// The position of a value, in a tree of the JSON's shape. Lines count from 1; an entry of a map has
// the line of its key.
struct SourceNode {
  int line = 0;
  std::map<std::string, SourceNode> fields;
  std::vector<SourceNode> items;
};

struct YamlError {
  int line = 0;
  std::string path;  // as in FieldError; empty if the text is not YAML
  std::string message;
};

struct YamlLimits {
  size_t bytes = size_t{1} << 20;
  int depth = 64;
  // Limits of the document with all aliases written out.
  size_t nodes = 50'000;
  size_t expanded_bytes = size_t{4} << 20;
  // Names each word without quotes that kubectl reads as something else, as an error.
  bool as_kubectl = false;
};

struct YamlDocument {
  Json json;
  SourceNode source;
  // If false, the text is no single YAML document, and json is null. If true, json is whole, but
  // errors may still name keys that are given twice, and words that are read in two ways.
  bool readable = false;
  std::vector<YamlError> errors;
};

YamlDocument ParseYaml(absl::string_view text, const YamlLimits& limits = {});

// Returns the line of the field at `path`, or of its nearest enclosing value that is there.
int LineOf(const SourceNode& root, absl::string_view path);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_YAML_ADAPTER_H_
