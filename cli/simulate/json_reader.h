#ifndef MUSTER_CLI_SIMULATE_JSON_READER_H_
#define MUSTER_CLI_SIMULATE_JSON_READER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json.h"

namespace muster::cli {

// Reads the fields of one object in a hand-written file. The first error is kept and names the
// field; after it every read returns its fallback. Fields that were never read are an error, too.
class JsonReader {
 public:
  // `path` is the path of the object, empty for a whole file.
  JsonReader(const Json& object, std::string path, absl::Status& status);

  bool Has(const char* name);
  std::string Text(const char* name, const std::string& fallback);
  // One of the words, or `fallback`, which need be none of them.
  std::string Word(const char* name, const std::string& fallback,
                   const std::vector<std::string>& known);
  // Accepts a number, or a string that is one.
  double Number(const char* name, double fallback);
  int64_t Integer(const char* name, int64_t fallback, int64_t least, int64_t most);
  bool Switch(const char* name, bool fallback);
  // A duration in Go's format: "90s", "24h".
  absl::Duration Duration(const char* name, absl::Duration fallback);
  // A Kubernetes quantity, in the unit in which the resource is counted.
  int64_t Quantity(const char* name, const std::string& resource, int64_t fallback);
  // The items of a list; an empty list if it is absent.
  const Json& List(const char* name);
  const Json& Object(const char* name);

  std::string PathOf(const char* name) const;
  void Fail(const char* name, absl::string_view message);
  // Reports unknown fields. Call it last.
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
