#include "proto/muster/v1alpha1/agent_limits.h"

#include <string>

namespace muster::v1alpha1 {
namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void KeepBegin(std::string& text, size_t most) {
  if (text.size() <= most) return;
  while (most > 0 && Continues(text[most])) --most;
  text.resize(most);
}

void KeepEnd(std::string& text, size_t most) {
  if (text.size() <= most) return;
  size_t begin = text.size() - most;
  while (begin < text.size() && Continues(text[begin])) ++begin;
  text.erase(0, begin);
}

void Cut(RankPosition& position) {
  KeepBegin(*position.mutable_listing_error(), kMaxShortText);
  for (StepDecision& decision : *position.mutable_decisions()) {
    KeepBegin(*decision.mutable_skip_reason(), kMaxShortText);
    KeepBegin(*decision.mutable_spike(), kMaxShortText);
  }
  for (CheckpointRef& checkpoint : *position.mutable_checkpoints()) {
    KeepBegin(*checkpoint.mutable_mismatch(), kMaxShortText);
  }
}

template <typename Parts>
void CutFaults(Parts& parts) {
  for (auto& part : parts) {
    for (HardwareFault& fault : *part.mutable_faults()) {
      KeepBegin(*fault.mutable_detail(), kMaxShortText);
    }
  }
}

void Cut(NodeReport& report) {
  KeepBegin(*report.mutable_gpu_absence(), kMaxText);
  KeepBegin(*report.mutable_fabric_absence(), kMaxText);
  if (report.has_notice()) KeepBegin(*report.mutable_notice()->mutable_text(), kMaxText);
  CutFaults(*report.mutable_gpus());
  CutFaults(*report.mutable_infiniband_ports());
  CutFaults(*report.mutable_disks());
}

}  // namespace

void CutTexts(AgentMessage& message) {
  switch (message.kind_case()) {
    case AgentMessage::kSteps:
      for (StepReport& step : *message.mutable_steps()->mutable_steps()) {
        KeepBegin(*step.mutable_spike(), kMaxShortText);
      }
      return;
    case AgentMessage::kReady:
      for (RankReady& rank : *message.mutable_ready()->mutable_ranks()) {
        if (rank.has_position()) Cut(*rank.mutable_position());
      }
      return;
    case AgentMessage::kJoined:
      return KeepBegin(*message.mutable_joined()->mutable_error(), kMaxText);
    case AgentMessage::kRankExited:
      KeepBegin(*message.mutable_rank_exited()->mutable_reason(), kMaxShortText);
      return KeepEnd(*message.mutable_rank_exited()->mutable_log_tail(), kMaxLogTail);
    case AgentMessage::kCheckpoint:
      return KeepBegin(*message.mutable_checkpoint()->mutable_error(), kMaxText);
    case AgentMessage::kRefused:
      return KeepBegin(*message.mutable_refused()->mutable_reason(), kMaxText);
    case AgentMessage::kFinished:
      return KeepBegin(*message.mutable_finished()->mutable_message(), kMaxText);
    case AgentMessage::kStalled:
      return KeepBegin(*message.mutable_stalled()->mutable_error(), kMaxText);
    case AgentMessage::kNodeReport:
      return Cut(*message.mutable_node_report());
    case AgentMessage::kHello:
    case AgentMessage::kHeartbeat:
    case AgentMessage::kReplicas:
    case AgentMessage::kNodeHello:
    case AgentMessage::kNodePower:
    case AgentMessage::KIND_NOT_SET:
      return;
  }
}

}  // namespace muster::v1alpha1
