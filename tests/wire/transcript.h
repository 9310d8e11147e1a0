#ifndef MUSTER_TESTS_WIRE_TRANSCRIPT_H_
#define MUSTER_TESTS_WIRE_TRANSCRIPT_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::wire {

enum class Speaker { kAgent, kOperator };

// One message of a stream, in the bytes that went over it.
struct Utterance {
  Speaker speaker = Speaker::kAgent;
  std::string bytes;
};

// The messages of one stream in both directions, in the order in which they arrived. In a file,
// each line is `agent BASE64` or `operator BASE64`; a line that begins with `#` is a comment.
struct Transcript {
  std::vector<Utterance> utterances;

  static absl::StatusOr<Transcript> Parse(std::string_view text);
  // Each message follows a comment that shows its fields.
  std::string ToText() const;
};

// Returns the name of the message in the oneof, e.g. "hello"; "?" if this tree does not know it.
std::string KindOf(const Utterance& utterance);

// Returns whether the number and the moment of such messages depend on timing: heartbeats, reports
// of steps.
bool IsTimed(const Utterance& utterance);

// Returns `today` with those timed messages of `earlier` that have a field which `today` lacks,
// each after as many other messages as in `earlier`. A transcript that is recorded anew would
// otherwise lose the fields that a fast machine had no time to say.
Transcript WithTimedFieldsOf(const Transcript& earlier, const Transcript& today);

// Returns the dotted names of all fields that some message has, e.g. "agent.hello.worker.job".
std::set<std::string> FieldsOf(const Transcript& transcript);

// Returns the transcript without the fields with these dotted names: what programs said before the
// fields were added.
Transcript WithoutFields(const Transcript& transcript, const std::set<std::string>& names);

// Plays the part of `self`: sends its messages, and before each of them awaits what the other side
// says before it in the transcript. `receive` returns the next message of the other side, or
// nullopt if it says no more. Other messages may come in between. Returns "" or what was missing.
std::string Play(const Transcript& transcript, Speaker self,
                 const std::function<bool(const std::string& bytes)>& send,
                 const std::function<std::optional<std::string>()>& receive);

}  // namespace muster::wire

#endif  // MUSTER_TESTS_WIRE_TRANSCRIPT_H_
