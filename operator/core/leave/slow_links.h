#ifndef MUSTER_OPERATOR_CORE_LEAVE_SLOW_LINKS_H_
#define MUSTER_OPERATOR_CORE_LEAVE_SLOW_LINKS_H_

#include "operator/core/state/draft.h"
#include "proto/muster/v1alpha1/round.pb.h"

// Policy: topology.linkTest. The links between a round's workers are measured before its first step
// if a worker is among them that was not in the last test. Workers and single links that are slow
// (link_verdict.h) are named in events. With Exclude, the slowest worker leaves its node before the
// step, as any that moves (move.h).
//
// Bounds: one worker leaves at a time, none while another leaves; no node is left twice, so that a
// worker that found no other node trains where it is; a job leaves at most a quarter of as many
// nodes as it has workers, and at least one. A round that is tested once is not tested again, even
// if the test breaks it.
namespace muster::control {

// Adds the test to the order to go of the round in memory, if its links are to be measured.
// `can_test`: all of its ranks can.
void OrderLinkTest(Draft& draft, bool can_test, v1alpha1::GoRound& go);

// Judges the links once all members have joined the round, before any of them steps.
void FindSlowLinks(Draft& draft);

// Lets the members step that wait for the verdict.
void EndLinkTest(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_SLOW_LINKS_H_
