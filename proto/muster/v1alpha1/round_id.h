#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_ROUND_ID_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_ROUND_ID_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/round.pb.h"

// The order of rounds, on which operator, agents and trainers must agree: by term, then by round.
// An absent number counts as 0. The functions are in the message's own namespace, so calls find
// them by their arguments. Pure.
namespace muster::v1alpha1 {

inline RoundId MakeRoundId(int64_t term, int64_t round) {
  RoundId id;
  id.set_term(term);
  id.set_round(round);
  return id;
}

inline bool Same(const RoundId& a, const RoundId& b) {
  return a.term() == b.term() && a.round() == b.round();
}

inline bool Less(const RoundId& a, const RoundId& b) {
  return std::pair(a.term(), a.round()) < std::pair(b.term(), b.round());
}

// Returns "TERM.ROUND".
inline std::string ToText(const RoundId& id) { return absl::StrCat(id.term(), ".", id.round()); }

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_ROUND_ID_H_
