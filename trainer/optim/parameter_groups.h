#ifndef MUSTER_TRAINER_OPTIM_PARAMETER_GROUPS_H_
#define MUSTER_TRAINER_OPTIM_PARAMETER_GROUPS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "re2/re2.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// Finds the group of a parameter by its name. Thread-safe.
class ParameterGroups {
 public:
  // InvalidArgument, with the field, if an expression cannot be read.
  static absl::StatusOr<ParameterGroups> Make(const std::vector<ParameterGroup>& groups);

  // Returns how a parameter is updated; `decay` says whether it decays if no group decides that.
  UpdateSettings SettingsOf(const std::string& name, bool decay) const;
  // Returns InvalidArgument if a group finds no parameter of a model; `names` are the names of all
  // its parameters. Such a group is a typing error, and the run would not be the one that was
  // meant.
  absl::Status CheckAllFind(const std::vector<std::string>& names) const;

 private:
  struct Group {
    ParameterGroup group;
    std::unique_ptr<const re2::RE2> expression;
  };

  std::vector<Group> groups_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_PARAMETER_GROUPS_H_
