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
#include "trainer/model/families/harmless_fields.h"

namespace muster::trainer {
namespace {

const std::vector<Family>& Families() {
  static const auto& families =
      *new std::vector<Family>{Gpt2Family(), LlamaFamily(), BloomFamily()};
  return families;
}

// Returns null if there is no such family.
const Family* FamilyOf(const Json& name) {
  for (const Family& family : Families()) {
    if (name == std::string(planner::Name(family.family))) return &family;
  }
  return nullptr;
}

std::string FamilyNames() {
  return absl::StrJoin(Families(), ", ", [](std::string* out, const Family& family) {
    absl::StrAppend(out, planner::Name(family.family));
  });
}

// Returns true for the longest sequence of families that have no weights for positions.
bool ShapesNoWeight(const std::string& field) {
  return field == "max_position_embeddings" || field == "seq_length";
}

// Returns one sentence about the fields that were not read and may change what the model computes;
// empty without such fields.
std::string UnknownFields(const Json& config, const ConfigReader& reader) {
  std::vector<std::string> unknown;
  for (const auto& [field, value] : config.items()) {
    const bool says_nothing = value.is_null() || (value.is_structured() && value.empty());
    if (says_nothing || field == "model_type" || reader.WasAsked(field) || IsHarmlessField(field) ||
        IsSwitchedOff(field, value)) {
      continue;
    }
    unknown.push_back(absl::StrCat(field, " is ", DumpJson(value)));
  }
  if (unknown.empty()) return "";
  return absl::StrCat(absl::StrJoin(unknown, ", "), unknown.size() == 1
                                                        ? ", and this field is not known here"
                                                        : ", and these fields are not known here");
}

absl::Status NotOurs(const std::vector<std::string>& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the checkpoint's model: ", absl::StrJoin(why, "; ")));
}

// The shape that a config.json describes, as far as the model has one here.
struct Description {
  planner::ModelShape shape;
  std::vector<std::string> differences;  // from what is computed here for that shape
  std::string unknown;                   // a sentence about fields that may be such differences
};

absl::StatusOr<Description> Read(const Json& original, size_t tensors) {
  const Json type = original.is_object() ? original.value("model_type", Json()) : Json();
  const Family* const family = FamilyOf(type);
  if (family == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint's model_type is not supported: it is ", DumpJson(type),
                     ", and there are ", FamilyNames()));
  }
  Json config = original;
  family->rename(config);
  ConfigReader reader(config);
  Description read{.shape = family->read(reader)};
  read.shape.family = family->family;
  read.shape.vocabulary = reader.Integer("vocab_size");
  if (read.shape.layers > static_cast<int64_t>(tensors)) {
    reader.Fail(
        absl::StrCat("it has ", read.shape.layers, " layers and only ", tensors, " tensors"));
  }
  if (!reader.unreadable().empty()) return NotOurs(reader.unreadable());
  MUSTER_RETURN_IF_ERROR(planner::CheckShape(read.shape));
  read.shape = planner::CompleteShape(read.shape);
  read.differences = reader.differences();
  read.unknown = UnknownFields(config, reader);
  return read;
}

// Returns the field of the manifest that sets a value which no other field implies.
std::string FieldOf(const std::string& field) {
  const bool epsilon = field == "rms_norm_eps" || field == "layer_norm_epsilon";
  return epsilon ? " (model.normEpsilon)" : "";
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
  MUSTER_ASSIGN_OR_RETURN(const Description read, Read(config, tensors));
  if (!read.differences.empty()) return NotOurs(read.differences);
  return read.shape;
}

absl::Status CheckSameModel(const Json& config, const Json& ours, size_t tensors,
                            const std::string& vocabulary) {
  MUSTER_ASSIGN_OR_RETURN(const Description read, Read(config, tensors));
  const Json theirs = FamilyOf(std::string(planner::Name(read.shape.family)))->config(read.shape);
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& field) {
    const Json there = theirs.value(field, Json()), here = ours.value(field, Json());
    if (there == here || IsHarmlessField(field) || ShapesNoWeight(field)) return;
    differences.push_back(absl::StrCat(field, " is ", DumpJson(there), " there, ", DumpJson(here),
                                       " here", FieldOf(field)));
    if (field == "vocab_size") absl::StrAppend(&differences.back(), " (", vocabulary, ")");
  };
  compare("model_type");
  if (differences.empty()) {
    for (const auto& [field, value] : theirs.items()) compare(field);
  }
  const bool another = !differences.empty();
  differences.insert(differences.end(), read.differences.begin(), read.differences.end());
  if (!read.unknown.empty()) differences.push_back(read.unknown);
  if (differences.empty()) return absl::OkStatus();
  if (!another) return NotOurs(differences);
  return absl::InvalidArgumentError(
      absl::StrCat("it is another model: ", absl::StrJoin(differences, "; ")));
}

}  // namespace muster::trainer
