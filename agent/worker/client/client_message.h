#ifndef MUSTER_AGENT_WORKER_CLIENT_CLIENT_MESSAGE_H_
#define MUSTER_AGENT_WORKER_CLIENT_CLIENT_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

// The packets between an agent and a script that uses the client, agent/client/muster.py. Each is
// one JSON object.
//
// clang-format off
//   script to agent
//     {"report": {"step": 12, "loss": 3.1, "tokens": 4096, ...}}   step 12 is done
//     {"checkpoint": {"step": 12, "directory": "step-12"}}         its state is saved
//     {"watch": true}                                              the script asks for notices
//   agent to script, at once after it has connected and whenever it changes
//     {"muster": 1, "saves": 2, "leaveIn": 14.5}   a checkpoint was asked for twice in this
//                                                  process's life; it must leave in 14.5 seconds
// clang-format on
namespace muster::agent {

// Longer packets are refused.
inline constexpr size_t kMaxClientPacket = size_t{16} << 10;

// Parses a script's packet, which may hold anything, into the trainer's message of the same
// meaning: steps, checkpoint or hello. InvalidArgument, with the field that is wrong and what would
// be right. Absent figures of a report are 0, an absent or null loss is not a number. Pure.
absl::StatusOr<v1alpha1::FromTrainer> ParseClientPacket(std::string_view packet);

// The news that an agent has for a script.
struct ClientNotice {
  // How often a checkpoint was asked for.
  int64_t saves = 0;
  // The seconds until the process gets SIGTERM; nullopt if it need not leave.
  std::optional<double> leave_in;
};

std::string FormatClientNotice(const ClientNotice& notice);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_CLIENT_CLIENT_MESSAGE_H_
