#include "operator/core/round/resumed.h"

#include <algorithm>

#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

using v1alpha1::ResumePoint;

// The length of status.resume.message.
constexpr size_t kMaxMessage = 1024;

const char* SourceName(ResumePoint::Source source) {
  switch (source) {
    case ResumePoint::LIVE:
      return "Live";
    case ResumePoint::MEMORY:
      return "Memory";
    case ResumePoint::CHECKPOINT:
      return "Checkpoint";
    default:
      return "Initial";
  }
}

}  // namespace

void NoteResumed(Draft& draft) {
  const RoundMemory& memory = draft.memory();
  if (memory.go == nullptr || !draft.spec().has_trainer()) return;
  const ResumePoint& point = memory.go->resume();
  int64_t bytes = 0;
  double seconds = 0;
  for (const AgentView& agent : draft.view.agents) {
    if (!agent.joined || agent.joined->round != memory.id) continue;
    bytes += agent.joined->restored_bytes;
    seconds = std::max(seconds, agent.joined->restore_seconds);
  }
  v1alpha1::ResumeStatus& status = *draft.status().mutable_resume();
  status.set_round(memory.id.round);
  status.set_source(SourceName(point.source()));
  status.set_step(point.version().step());
  status.set_bytes(bytes);
  status.set_seconds(seconds);
  status.set_time(FormatWall(draft.view.wall));
  status.set_message(point.reason().substr(0, kMaxMessage));
}

}  // namespace muster::control
