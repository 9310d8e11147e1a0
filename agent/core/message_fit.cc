#include "agent/core/message_fit.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::agent {
namespace {

using google::protobuf::RepeatedPtrField;
using v1alpha1::AgentMessage;
using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::RankReady;

// For the field that holds the list, its length and the round.
constexpr size_t kRest = 256;
constexpr size_t kRoom = v1alpha1::kMaxAgentMessage - kRest;

// How many checkpoints of a history and copies of a rank stay, one pair after the other until the
// message fits.
constexpr std::pair<int, int> kKept[] = {{8, 4}, {4, 4}, {2, 4}, {2, 2}, {1, 1}};

bool Fits(const AgentMessage& message) {
  return message.ByteSizeLong() <= v1alpha1::kMaxAgentMessage;
}

std::vector<AgentMessage> Divide(const v1alpha1::StepReports& reports) {
  std::vector<AgentMessage> parts;
  size_t room = 0;
  for (const v1alpha1::StepReport& step : reports.steps()) {
    const size_t size = step.ByteSizeLong() + 8;  // with its tag and length
    if (parts.empty() || size > room) {
      *parts.emplace_back().mutable_steps()->mutable_round() = reports.round();
      room = kRoom;
    }
    *parts.back().mutable_steps()->add_steps() = step;
    room -= std::min(room, size);
  }
  return parts;
}

template <typename T>
void KeepFirst(RepeatedPtrField<T>& list, int most) {
  if (list.size() > most) list.DeleteSubrange(most, list.size() - most);
}

// The newest come first. Those of another history must not take the place of the job's own.
void KeepNewest(RepeatedPtrField<CheckpointRef>& checkpoints, int most_of_a_history) {
  std::map<std::string, int> kept;
  const auto too_old = [&](const CheckpointRef& checkpoint) {
    return ++kept[checkpoint.history()] > most_of_a_history;
  };
  checkpoints.erase(std::remove_if(checkpoints.begin(), checkpoints.end(), too_old),
                    checkpoints.end());
}

// All ranks of a worker see the same directory, so they keep the same ones.
void Shrink(v1alpha1::WorkerReady& ready, int checkpoints, int copies) {
  for (RankReady& rank : *ready.mutable_ranks()) {
    RankPosition& position = *rank.mutable_position();
    KeepNewest(*position.mutable_checkpoints(), checkpoints);
    KeepFirst(*position.mutable_copies(), copies);
    KeepFirst(*position.mutable_replicas(), copies);
  }
}

// Shortens the reasons why checkpoints cannot be used. An empty one would say that they can be.
void ShortenMismatches(v1alpha1::WorkerReady& ready) {
  constexpr size_t kMost = 48;
  for (RankReady& rank : *ready.mutable_ranks()) {
    for (CheckpointRef& checkpoint : *rank.mutable_position()->mutable_checkpoints()) {
      if (checkpoint.mismatch().size() > kMost) checkpoint.set_mismatch("it is of another job");
    }
  }
}

void Fit(AgentMessage& message) {
  v1alpha1::WorkerReady& ready = *message.mutable_ready();
  for (RankReady& rank : *ready.mutable_ranks()) {
    if (!rank.has_position()) continue;
    RankPosition& position = *rank.mutable_position();
    KeepFirst(*position.mutable_checkpoints(), v1alpha1::kMaxCheckpoints);
    KeepFirst(*position.mutable_copies(), v1alpha1::kMaxCopies);
    KeepFirst(*position.mutable_replicas(), v1alpha1::kMaxCopies);
  }
  if (!Fits(message)) ShortenMismatches(ready);
  for (const auto& [checkpoints, copies] : kKept) {
    if (Fits(message)) return;
    Shrink(ready, checkpoints, copies);
  }
  // Many histories in one directory: those of the newest checkpoints stay.
  for (int most = v1alpha1::kMaxCheckpoints / 2; most > 0 && !Fits(message); most /= 2) {
    for (RankReady& rank : *ready.mutable_ranks()) {
      KeepFirst(*rank.mutable_position()->mutable_checkpoints(), most);
    }
  }
}

}  // namespace

std::vector<AgentMessage> FitToLimits(AgentMessage message) {
  v1alpha1::CutTexts(message);
  if (message.has_steps() && !Fits(message)) return Divide(message.steps());
  if (message.has_ready()) Fit(message);
  if (message.has_joined()) {
    KeepFirst(*message.mutable_joined()->mutable_links(), v1alpha1::kMaxLinks);
  }
  std::vector<AgentMessage> parts;
  parts.push_back(std::move(message));
  return parts;
}

}  // namespace muster::agent
