#ifndef MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_

#include <string_view>

#include "base/json.h"

namespace muster::trainer {

// Returns true if a field of Hugging Face's config.json cannot change what weights mean: it is
// about dropout, token ids, generation, other tasks than language modelling, bookkeeping, or the
// way in which the same numbers are computed.
bool IsHarmlessField(std::string_view field);

// Returns true if the value of a field that is not read here switches off what would change the
// model.
bool IsSwitchedOff(std::string_view field, const Json& value);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_
