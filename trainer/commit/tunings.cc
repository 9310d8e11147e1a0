#include "trainer/commit/tunings.h"

#include <cstddef>
#include <string>

#include "base/hash.h"

namespace muster::trainer {

Tuning FromProto(const v1alpha1::Tuning& tuning) {
  Tuning out{.step = tuning.step()};
  if (tuning.has_learning_rate()) out.learning_rate = tuning.learning_rate();
  if (tuning.has_clip_norm()) out.clip_norm = tuning.clip_norm();
  return out;
}

v1alpha1::Tuning ToProto(const Tuning& tuning) {
  v1alpha1::Tuning out;
  out.set_step(tuning.step);
  if (tuning.learning_rate.has_value()) out.set_learning_rate(*tuning.learning_rate);
  if (tuning.clip_norm.has_value()) out.set_clip_norm(*tuning.clip_norm);
  return out;
}

TunedValues ValuesOf(TunedValues spec, std::span<const Tuning> in_force, int64_t step) {
  for (const Tuning& tuning : in_force) {
    if (tuning.step > step) break;
    spec.learning_rate = tuning.learning_rate.value_or(spec.learning_rate);
    spec.clip_norm = tuning.clip_norm.value_or(spec.clip_norm);
  }
  return spec;
}

std::optional<Tuning> NextTuning(std::span<const Tuning> of_job, size_t in_force, int64_t step) {
  if (in_force >= of_job.size() || in_force >= kMostTunings) return std::nullopt;
  Tuning next = of_job[in_force];
  if (next.step > step) return std::nullopt;
  next.step = step;
  return next;
}

std::vector<Tuning> KeptTunings(std::span<const Tuning> of_job, std::span<const Tuning> in_force) {
  size_t kept = 0;
  while (kept < in_force.size() && kept < of_job.size() &&
         in_force[kept].learning_rate == of_job[kept].learning_rate &&
         in_force[kept].clip_norm == of_job[kept].clip_norm) {
    ++kept;
  }
  return {in_force.begin(), in_force.begin() + static_cast<std::ptrdiff_t>(kept)};
}

uint64_t HashOf(const Tuning& tuning) {
  v1alpha1::Tuning changes = ToProto(tuning);
  changes.clear_step();
  return Hash64(changes.SerializeAsString());
}

}  // namespace muster::trainer
