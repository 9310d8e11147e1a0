// The parts of a step of one rank in the model of a job, from its gradients to the applied update.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "tests/simulation/commit_world.h"
#include "tests/simulation/commit_world_words.h"

namespace muster {
namespace {

using trainer::CommitMachine;

}  // namespace

std::string CommitWorld::DoInStep(Kind kind, Rank& rank, int index) {
  CommitMachine& machine = rank.machine;
  absl::Status status;
  std::string broken;
  switch (kind) {
    case Kind::kBeginStep:
      if (!rank.stepping) broken = Agree(*Find(machine.round()), rank);
      rank.stepping = true;
      status = machine.BeginStep();
      rank.sealed_weights.clear();
      rank.prepared_weights.clear();
      Give(rank, index);
      break;
    case Kind::kSeal:
      status = machine.Seal();
      rank.sealed_weights = rank.weights;
      rank.sealed_weights.emplace_back(machine.sealed()->step(), machine.round().round());
      break;
    case Kind::kSendVote:
      status = machine.VoteSent();
      Give(rank, index);
      break;
    case Kind::kSeeVote: {
      v1alpha1::StepDecision decision;
      *decision.mutable_version() = machine.next();
      decision.set_term(machine.round().term());
      decision.set_round(machine.round().round());
      decision.set_apply(true);
      status = machine.Decide(decision);
      break;
    }
    case Kind::kPrepareUpdate:
      status = machine.Prepared();
      rank.prepared_weights = rank.sealed_weights;
      break;
    case Kind::kSendConfirm:
      status = machine.ConfirmSent();
      Give(rank, index);
      break;
    case Kind::kSeeConfirm:
      status = machine.Confirm(machine.voted());
      break;
    case Kind::kBeginApply:
      status = machine.BeginApply();
      break;
    default:
      return "this is no part of a step";
  }
  return status.ok() ? broken : std::string(status.message());
}

std::string CommitWorld::EndApply(Rank& rank, int index) {
  if (absl::Status status = rank.machine.EndApply(); !status.ok()) {
    return std::string(status.message());
  }
  // Gradients of another state or another attempt must never be applied.
  if (rank.sealed_weights.size() != rank.weights.size() + 1 ||
      !IsPrefix(rank.weights, rank.sealed_weights) ||
      rank.sealed_weights.back().first != rank.machine.applied()->step()) {
    return absl::StrCat("gradients of ", Text(rank.sealed_weights), "applied to ",
                        Text(rank.weights));
  }
  if (kind_.confirms && rank.prepared_weights != rank.sealed_weights) {
    return absl::StrCat(Text(rank.sealed_weights), "applied, and not prepared");
  }
  rank.weights = std::exchange(rank.sealed_weights, {});
  if (!rank.in_round) return Arrive(rank, index);
  BeginCopy(rank);
  // A step is committed once all members of the operator's round have reported it as applied.
  auto it = std::find_if(applied_by_.begin(), applied_by_.end(),
                         [&](const auto& entry) { return entry.first == rank.weights; });
  if (it == applied_by_.end()) it = applied_by_.insert(it, {rank.weights, 0});
  it->second |= 1u << index;
  const Collectives& round = *Find(rank.machine.round());
  for (const int member : round.members) {
    if (!ranks_[member].heard || (it->second >> member & 1) == 0) return "";
  }
  return Same(round.round, id_) ? Commit(rank.weights, it->second) : "";
}

// The rank breaks its round with the weights of before.
std::string CommitWorld::AbandonApply(Rank& rank, int index) {
  if (absl::Status status = rank.machine.AbandonApply(); !status.ok()) {
    return std::string(status.message());
  }
  rank.sealed_weights.clear();
  rank.prepared_weights.clear();
  rank.in_round = rank.stepping = rank.arrived = rank.waiting = rank.copies_begun = false;
  changed_ = true;
  // Others may have the next weights, and this rank gives up its own to receive those: a death
  // meanwhile is a second fault.
  GiveUp(index);
  return "";
}

}  // namespace muster
