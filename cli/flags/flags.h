#ifndef MUSTER_CLI_FLAGS_FLAGS_H_
#define MUSTER_CLI_FLAGS_FLAGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::cli {

// The kind of name that a value or positional argument is, as far as a shell can complete it.
enum class Names { kOther, kJob };  // kJob: a job of this machine

// One flag of a subcommand. A switch takes no value; any other flag takes one.
struct FlagSpec {
  absl::string_view name;  // without dashes
  absl::string_view help;
  bool is_switch = false;
  Names names = Names::kOther;
};

// The arguments of a subcommand: `--name value`, `--name=value`, `--switch`, positionals, and `--`.
class Flags {
 public:
  // InvalidArgument names a flag that is unknown or lacks its value, and lists the valid ones.
  // Cancelled means that help was requested: the message is the help, and Fail() prints it.
  static absl::StatusOr<Flags> Parse(const std::vector<std::string>& arguments,
                                     const std::vector<FlagSpec>& specs);

  bool Has(absl::string_view name) const { return values_.contains(std::string(name)); }
  std::string Get(absl::string_view name, absl::string_view fallback) const;
  absl::StatusOr<int64_t> GetInt(absl::string_view name, int64_t fallback) const;
  absl::StatusOr<double> GetDouble(absl::string_view name, double fallback) const;
  const std::vector<std::string>& positional() const { return positional_; }
  // Returns the only positional argument, or an empty string. InvalidArgument names the second one
  // if there are several.
  absl::StatusOr<std::string> OnePositional() const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> positional_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_FLAGS_H_
