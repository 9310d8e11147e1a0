#ifndef MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_

#include <string_view>

namespace muster::trainer {

// Returns true if a field of Hugging Face's config.json cannot change what weights mean: it is
// about dropout, token ids, generation, other tasks than language modelling, bookkeeping, or the
// way in which the same numbers are computed.
bool IsHarmlessField(std::string_view field);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_HARMLESS_FIELDS_H_
