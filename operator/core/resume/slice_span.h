#ifndef MUSTER_OPERATOR_CORE_RESUME_SLICE_SPAN_H_
#define MUSTER_OPERATOR_CORE_RESUME_SLICE_SPAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"

// The part of a job's state that a rank holds, as fractions of it. Every unit of the state is cut
// at the same fractions, rounded down to whole chunks, so spans that cover [0, 1] cover every unit,
// whatever its size and however many ranks divided it. Pure.
namespace muster::control {

struct Fraction {
  int64_t numerator = 0;
  int64_t denominator = 1;  // > 0
};

struct SliceSpan {
  Fraction begin;
  Fraction end;
};

// Returns the span of a rank's slice: all of the state for 0 or 1 shards, and nothing for a shard
// that does not exist.
SliceSpan SpanOf(const v1alpha1::StateSlice& slice);

// Returns the first part of [0, 1] that no span covers, or nullopt.
std::optional<SliceSpan> FirstGap(std::vector<SliceSpan> spans);

// Returns e.g. "the part from 1/4 to 1/2".
std::string Text(const SliceSpan& span);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_SLICE_SPAN_H_
