// Parses any packet that a script may send to its agent: no crash, and an accepted one means
// steps, a checkpoint or a greeting within the bounds of client_message.h, and nothing else that a
// trainer could say.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/worker/client/client_message.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

bool IsCount(int64_t value) { return value >= 0 && value <= int64_t{1} << 53; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto message =
      muster::agent::ParseClientPacket(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!message.ok()) {
    Check(!message.status().message().empty());
    return 0;
  }
  Check(size <= muster::agent::kMaxClientPacket);
  Check(message->has_steps() || message->has_checkpoint() || message->has_hello());
  if (message->has_steps()) {
    Check(message->steps().steps_size() == 1);
    const auto& step = message->steps().steps(0);
    Check(IsCount(step.version().step()) && IsCount(step.tokens()) && IsCount(step.total_steps()));
    // A step with a finite loss was applied; one that is reported without a loss was, too.
    Check(step.applied() || !std::isfinite(step.loss()));
  }
  if (message->has_checkpoint()) {
    Check(IsCount(message->checkpoint().version().step()));
    Check(!message->checkpoint().directory().empty());
  }
  // Whatever was accepted can be sent on.
  muster::v1alpha1::FromTrainer again;
  Check(again.ParseFromString(message->SerializeAsString()));
  return 0;
}
