#include "trainer/model/families/model_factory.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "trainer/model/families/config_reader.h"
#include "trainer/model/families/family.h"

namespace muster::trainer {
namespace {

const std::vector<Family>& Families() {
  static const auto& families =
      *new std::vector<Family>{Gpt2Family(), LlamaFamily(), BloomFamily()};
  return families;
}

std::string FamilyNames() {
  return absl::StrJoin(Families(), ", ", [](std::string* out, const Family& family) {
    absl::StrAppend(out, planner::Name(family.family));
  });
}

}  // namespace

double ResidualDeviation(const planner::ModelShape& shape) {
  return kDeviation / std::sqrt(2.0 * shape.layers);
}

absl::StatusOr<Model> MakeModel(const planner::ModelShape& wanted) {
  MUSTER_RETURN_IF_ERROR(planner::CheckShape(wanted));
  const planner::ModelShape shape = planner::CompleteShape(wanted);
  if (shape.vocabulary < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: vocabulary is ", shape.vocabulary, ", want >= 2"));
  }
  for (const Family& family : Families()) {
    if (family.family != shape.family) continue;
    return Model{.blocks = family.make(shape), .config_json = DumpJson(family.config(shape))};
  }
  return absl::InternalError(absl::StrCat("no model is made for ", planner::Name(shape.family)));
}

absl::StatusOr<planner::ModelShape> ReadModelShape(const Json& config, size_t tensors) {
  const Json type = config.is_object() ? config.value("model_type", Json()) : Json();
  for (const Family& family : Families()) {
    if (type != std::string(planner::Name(family.family))) continue;
    ConfigReader reader(config);
    planner::ModelShape shape = family.read(reader);
    shape.family = family.family;
    shape.vocabulary = reader.Integer("vocab_size");
    if (shape.layers > static_cast<int64_t>(tensors)) {
      reader.Fail(absl::StrCat("it has ", shape.layers, " layers and only ", tensors, " tensors"));
    }
    MUSTER_RETURN_IF_ERROR(reader.status());
    MUSTER_RETURN_IF_ERROR(planner::CheckShape(shape));
    return planner::CompleteShape(shape);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the checkpoint's model_type is not supported: it is ", DumpJson(type),
                   ", and there are ", FamilyNames()));
}

}  // namespace muster::trainer
