#include "trainer/parallel/unit_layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// Returns the blocks that declare each name.
absl::StatusOr<std::map<std::string, std::vector<int>>> FindUsers(
    const std::vector<BlockParameters>& blocks) {
  std::map<std::string, std::vector<int>> users;
  std::map<std::string, const ParameterSpec*> first;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const ParameterSpec& spec : blocks[b].parameters) {
      std::vector<int>& using_blocks = users[spec.name];
      if (!using_blocks.empty() && using_blocks.back() == static_cast<int>(b)) {
        return absl::InvalidArgumentError(
            absl::StrCat("block ", blocks[b].block, " declares ", spec.name, " twice"));
      }
      using_blocks.push_back(static_cast<int>(b));
      const auto [it, fresh] = first.emplace(spec.name, &spec);
      if (!fresh && !(*it->second == spec)) {
        return absl::InvalidArgumentError(
            absl::StrCat("blocks ", blocks[using_blocks.front()].block, " and ", blocks[b].block,
                         " declare ", spec.name, " differently"));
      }
    }
  }
  return users;
}

// Gives each tensor its offset in this part; those under decay come first.
void Place(ModelPart part, UnitLayout& unit) {
  std::stable_sort(
      unit.tensors.begin(), unit.tensors.end(),
      [](const UnitTensor& a, const UnitTensor& b) { return a.spec.decay > b.spec.decay; });
  int64_t offset = 0;
  unit.decay_elements = 0;
  for (UnitTensor& tensor : unit.tensors) {
    tensor.shape = ShapeOfPart(tensor.spec.shape, tensor.spec.partition, part);
    tensor.size = 1;
    for (const int64_t d : tensor.shape) tensor.size *= d;
    tensor.offset = offset;
    offset += RoundUp(tensor.size, kTensorAlignment);
    if (tensor.spec.decay) unit.decay_elements = offset;
  }
  unit.elements = RoundUp(offset, kChunkElements);
}

absl::Status PlaceUnit(ModelPart part, UnitLayout& unit) {
  for (const UnitTensor& tensor : unit.tensors) {
    const absl::Status divides = CheckParts(tensor.spec.partition, part.count);
    if (divides.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(tensor.spec.name, ": ", divides.message()));
  }
  for (int index = 0; unit.is_part && index < part.count; ++index) {
    Place({index, part.count}, unit);
    if (index < part.index) unit.earlier_chunks += unit.chunks();
    unit.chunks_of_parts.push_back(unit.chunks());
  }
  Place(part, unit);
  if (!unit.is_part) unit.chunks_of_parts = {unit.chunks()};
  return absl::OkStatus();
}

// Chunks that a stage has in turn run micro-batches in another order than one after the other, and
// could not tell whose gradient of a shared tensor is complete.
absl::Status CheckChunks(const StageCut& cut, const UnitLayout& unit) {
  if (cut.form() != StageForm::kInTurn || cut.stages() == 1) return absl::OkStatus();
  for (size_t i = 0; i < unit.users.size(); ++i) {
    for (size_t j = i + 1; j < unit.users.size(); ++j) {
      const int a = cut.RunOfBlock(unit.users[i]), b = cut.RunOfBlock(unit.users[j]);
      if (a == b || cut.StageOfRun(a) != cut.StageOfRun(b)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(unit.name, " is shared by two chunks of stage ", cut.StageOfRun(a),
                       " of the pipeline: one chunk for each stage would do"));
    }
  }
  return absl::OkStatus();
}

// Says which stages have the unit, and leaves it empty on others.
absl::Status TakeStage(const StageCut& cut, int stage, UnitLayout& unit) {
  unit.stages.clear();
  for (const int block : unit.users) {
    unit.stages.push_back(cut.StageOf(block));
    if (unit.stages.back() == stage) unit.own_users.push_back(block);
  }
  std::sort(unit.stages.begin(), unit.stages.end());
  unit.stages.erase(std::unique(unit.stages.begin(), unit.stages.end()), unit.stages.end());
  MUSTER_RETURN_IF_ERROR(CheckChunks(cut, unit));
  const bool ends = unit.stages.front() == 0 && unit.stages.back() == cut.stages() - 1;
  if (unit.stages.size() > 2 || (unit.stages.size() == 2 && !ends)) {
    return absl::InvalidArgumentError(absl::StrCat(
        unit.name, " is shared by stages ", unit.stages[0], " and ", unit.stages[1],
        " of the pipeline, and only the first and the last can share a tensor: two stages would "
        "do"));
  }
  if (!unit.own_users.empty()) return absl::OkStatus();
  unit.tensors.clear();
  unit.elements = unit.decay_elements = 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelLayout> LayOutModel(const std::vector<BlockParameters>& blocks, ModelPart part,
                                        const StageCut& cut, int stage) {
  auto users = FindUsers(blocks);
  if (!users.ok()) return users.status();
  ModelLayout layout;
  for (size_t b = 0; b < blocks.size(); ++b) {
    UnitLayout own{
        .name = blocks[b].block, .is_part = part.count > 1, .users = {static_cast<int>(b)}};
    UnitLayout whole{.name = absl::StrCat(blocks[b].block, ", whole"), .users = own.users};
    for (const ParameterSpec& spec : blocks[b].parameters) {
      const std::vector<int>& using_blocks = users->at(spec.name);
      if (using_blocks.size() == 1) {
        (part.count == 1 || IsDivided(spec.partition, part) ? own : whole)
            .tensors.push_back({.spec = spec});
      } else if (using_blocks.front() == static_cast<int>(b)) {
        layout.units.push_back({.name = spec.name,
                                .is_part = IsDivided(spec.partition, part),
                                .users = using_blocks,
                                .tensors = {{.spec = spec}}});
      }
    }
    if (!own.tensors.empty()) layout.units.push_back(std::move(own));
    if (!whole.tensors.empty()) layout.units.push_back(std::move(whole));
  }
  std::map<std::string, ParameterPlace> places;
  for (size_t u = 0; u < layout.units.size(); ++u) {
    MUSTER_RETURN_IF_ERROR(PlaceUnit(part, layout.units[u]));
    MUSTER_RETURN_IF_ERROR(TakeStage(cut, stage, layout.units[u]));
    const std::vector<UnitTensor>& tensors = layout.units[u].tensors;
    for (size_t t = 0; t < tensors.size(); ++t) {
      places[tensors[t].spec.name] = {static_cast<int>(u), static_cast<int>(t)};
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    std::vector<ParameterPlace>& of_block = layout.places.emplace_back();
    if (cut.StageOf(static_cast<int>(b)) != stage) continue;
    for (const ParameterSpec& spec : blocks[b].parameters) of_block.push_back(places.at(spec.name));
  }
  return layout;
}

}  // namespace muster::trainer
