#ifndef MUSTER_TRAINER_OPTIM_REGISTRY_H_
#define MUSTER_TRAINER_OPTIM_REGISTRY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {

// Maps the names that a field of a spec may have to values. Rows are added while the program
// starts; from then on any thread may find them.
template <typename Value>
class Registry {
 public:
  using Row = std::pair<std::string, Value>;

  // `field` is the field of a spec that names a row.
  Registry(std::string field, std::vector<Row> rows)
      : field_(std::move(field)), rows_(std::move(rows)) {}

  // Returns AlreadyExists if the name has a row.
  absl::Status Add(std::string name, Value value) {
    if (Find(name).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(field_, ": \"", name, "\" is registered twice"));
    }
    rows_.emplace_back(std::move(name), std::move(value));
    return absl::OkStatus();
  }

  // Returns InvalidArgument, which lists the names, if there is no such row.
  absl::StatusOr<Value> Find(std::string_view name) const {
    for (const Row& row : rows_) {
      if (row.first == name) return row.second;
    }
    const auto append = [](std::string* out, const Row& row) { absl::StrAppend(out, row.first); };
    return absl::InvalidArgumentError(absl::StrCat(
        field_, ": \"", std::string(name), "\" is none of ", absl::StrJoin(rows_, ", ", append)));
  }

 private:
  const std::string field_;
  std::vector<Row> rows_;
};

// The optimizers and the schedules that a run can name. A program, or a test, adds its own before
// it trains; the engine knows none of them.
Registry<OptimizerFactory>& Optimizers();
Registry<RateFunction>& Schedules();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_REGISTRY_H_
