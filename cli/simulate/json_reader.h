#ifndef MUSTER_CLI_SIMULATE_JSON_READER_H_
#define MUSTER_CLI_SIMULATE_JSON_READER_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json.h"

namespace muster::cli {

// Reads the fields of one object of a file that a person wrote. The first error is kept and names
// the field; after it everything reads as its fallback. Fields nobody asked for are an error, too.
class JsonReader {
 public:
  // `path` is the object's own, empty for a whole file.
  JsonReader(const Json& object, std::string path, absl::Status& status);

  bool Has(const char* name);
  std::string Text(const char* name, const std::string& fallback);
  // A number, or a string that is one.
  double Number(const char* name, double fallback);
  int64_t Integer(const char* name, int64_t fallback, int64_t least, int64_t most);
  bool Switch(const char* name, bool fallback);
  // As Go writes it: "90s", "24h".
  absl::Duration Duration(const char* name, absl::Duration fallback);
  // A Kubernetes quantity of the resource, in its counted unit.
  int64_t Quantity(const char* name, const std::string& resource, int64_t fallback);
  // The items of a list; an empty list when it is absent.
  const Json& List(const char* name);
  const Json& Object(const char* name);

  std::string PathOf(const char* name) const;
  void Fail(const char* name, absl::string_view message);
  // Says which fields are unknown. Call it last.
  void Finish();

 private:
  const Json* Find(const char* name);

  const Json& object_;
  const std::string path_;
  absl::Status& status_;
  std::set<std::string> asked_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_JSON_READER_H_
