#include "base/yaml/config_reader.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {

std::string FieldPath(const std::string& path, const std::string& name) {
  return absl::StrCat(path, path.empty() ? "" : ".", name);
}

ConfigReader::ConfigReader(const YamlDocument& document) : document_(document) {
  for (const YamlError& error : document.errors) Fault(error.path, error.message);
}

void ConfigReader::Fault(const std::string& path, absl::string_view what) {
  faults_.push_back(absl::StrCat("line ", LineOf(document_.source, path), ": ", path,
                                 path.empty() ? "" : ": ", what));
}

std::optional<std::string> ConfigReader::Text(const Json& object, const std::string& path,
                                              const std::string& name) {
  if (!object.contains(name)) return std::nullopt;
  if (object[name].is_string()) return object[name].get<std::string>();
  Fault(FieldPath(path, name), "want a string");
  return std::nullopt;
}

std::optional<double> ConfigReader::Number(const Json& object, const std::string& path,
                                           const std::string& name) {
  if (!object.contains(name)) return std::nullopt;
  if (object[name].is_number()) {
    const double value = object[name].get<double>();
    if (std::isfinite(value)) return value;
  }
  Fault(FieldPath(path, name), "want a number");
  return std::nullopt;
}

void ConfigReader::RefuseOthers(const Json& object, const std::string& path,
                                const std::set<std::string>& known) {
  for (const auto& [name, value] : object.items()) {
    if (known.count(name) > 0) continue;
    Fault(FieldPath(path, name),
          absl::StrCat("unknown field; the fields here are ", absl::StrJoin(known, ", ")));
  }
}

absl::Status ConfigReader::Result() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults_, "\n"));
}

}  // namespace muster
