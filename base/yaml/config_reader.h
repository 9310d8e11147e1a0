#ifndef MUSTER_BASE_YAML_CONFIG_READER_H_
#define MUSTER_BASE_YAML_CONFIG_READER_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/yaml/yaml_adapter.h"

namespace muster {

// Reads the fields of a configuration file and collects its faults, each with its line and path, as
// "line 3: prices[0].perHour: want a number". Paths are as in FieldError. Not thread-safe.
class ConfigReader {
 public:
  // `document` must outlive the reader. Its own errors are the first faults.
  explicit ConfigReader(const YamlDocument& document);

  void Fault(const std::string& path, absl::string_view what);
  // Return the value of a field; nullopt if it is absent, or, with a fault, if it has another type.
  // A number is finite.
  std::optional<std::string> Text(const Json& object, const std::string& path,
                                  const std::string& name);
  std::optional<double> Number(const Json& object, const std::string& path,
                               const std::string& name);
  // Adds a fault for each field that is not in `known`.
  void RefuseOthers(const Json& object, const std::string& path,
                    const std::set<std::string>& known);

  // kInvalidArgument with one fault per line; OK without faults.
  absl::Status Result() const;

 private:
  const YamlDocument& document_;
  std::vector<std::string> faults_;
};

// Returns the path of a field of the object at `path`, which is empty for the whole document.
std::string FieldPath(const std::string& path, const std::string& name);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_CONFIG_READER_H_
