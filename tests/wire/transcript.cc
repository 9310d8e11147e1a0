#include "tests/wire/transcript.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace muster::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kAgent[] = "agent";
constexpr char kOperator[] = "operator";

const char* NameOf(Speaker speaker) { return speaker == Speaker::kAgent ? kAgent : kOperator; }

std::unique_ptr<Message> Decode(const Utterance& utterance) {
  std::unique_ptr<Message> message;
  if (utterance.speaker == Speaker::kAgent) {
    message = std::make_unique<v1alpha1::AgentMessage>();
  } else {
    message = std::make_unique<v1alpha1::OperatorMessage>();
  }
  if (!message->ParseFromString(utterance.bytes)) return nullptr;
  return message;
}

// Calls `visit(message, field, name)` for each present field, after the fields inside it.
template <typename Visit>
void VisitFields(Message& message, const std::string& prefix, const Visit& visit) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = absl::StrCat(prefix, ".", std::string(field->name()));
    const auto& reflection = *message.GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map()) {
      if (field->is_repeated()) {
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          VisitFields(*reflection.MutableRepeatedMessage(&message, field, i), name, visit);
        }
      } else {
        VisitFields(*reflection.MutableMessage(&message, field), name, visit);
      }
    }
    visit(message, *field, name);
  }
}

}  // namespace

absl::StatusOr<Transcript> Transcript::Parse(std::string_view text) {
  Transcript transcript;
  for (const absl::string_view piece :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty())) {
    const std::string line(piece);
    if (line[0] == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    Utterance utterance;
    utterance.speaker = words[0] == kOperator ? Speaker::kOperator : Speaker::kAgent;
    if (words.size() != 2 || (words[0] != kAgent && words[0] != kOperator) ||
        !absl::Base64Unescape(words[1], &utterance.bytes) || Decode(utterance) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", line, "\" is not `agent` or `operator` and a message in base64"));
    }
    transcript.utterances.push_back(std::move(utterance));
  }
  return transcript;
}

std::string Transcript::ToText() const {
  std::string text;
  for (const Utterance& utterance : utterances) {
    const std::unique_ptr<Message> message = Decode(utterance);
    absl::StrAppend(&text, "# ", message == nullptr ? "?" : message->ShortDebugString(), "\n",
                    NameOf(utterance.speaker), " ", absl::Base64Escape(utterance.bytes), "\n");
  }
  return text;
}

std::string KindOf(const Utterance& utterance) {
  const std::unique_ptr<Message> message = Decode(utterance);
  if (message == nullptr) return "?";
  const auto& oneof = *message->GetDescriptor()->oneof_decl(0);
  const FieldDescriptor* kind = message->GetReflection()->GetOneofFieldDescriptor(*message, &oneof);
  return kind == nullptr ? "?" : std::string(kind->name());
}

bool IsTimed(const Utterance& utterance) {
  const std::string kind = KindOf(utterance);
  return kind == "heartbeat" || kind == "steps";
}

std::set<std::string> FieldsOf(const Transcript& transcript) {
  std::set<std::string> names;
  for (const Utterance& utterance : transcript.utterances) {
    const std::unique_ptr<Message> message = Decode(utterance);
    if (message == nullptr) continue;
    VisitFields(
        *message, NameOf(utterance.speaker),
        [&](Message&, const FieldDescriptor&, const std::string& name) { names.insert(name); });
  }
  return names;
}

Transcript WithTimedFieldsOf(const Transcript& earlier, const Transcript& today) {
  const std::set<std::string> said = FieldsOf(today);
  Transcript result = today;
  auto place = result.utterances.begin();
  for (const Utterance& utterance : earlier.utterances) {
    if (!IsTimed(utterance)) {
      while (place != result.utterances.end() && IsTimed(*place)) ++place;
      if (place != result.utterances.end()) ++place;
      continue;
    }
    const std::set<std::string> fields = FieldsOf({{utterance}});
    if (std::includes(said.begin(), said.end(), fields.begin(), fields.end())) continue;
    place = std::next(result.utterances.insert(place, utterance));
  }
  return result;
}

Transcript WithoutFields(const Transcript& transcript, const std::set<std::string>& names) {
  Transcript result = transcript;
  for (Utterance& utterance : result.utterances) {
    const std::unique_ptr<Message> message = Decode(utterance);
    if (message == nullptr) continue;
    VisitFields(*message, NameOf(utterance.speaker),
                [&](Message& parent, const FieldDescriptor& field, const std::string& name) {
                  if (names.count(name) > 0) parent.GetReflection()->ClearField(&parent, &field);
                });
    utterance.bytes = message->SerializeAsString();
  }
  return result;
}

std::string Play(const Transcript& transcript, Speaker self,
                 const std::function<bool(const std::string& bytes)>& send,
                 const std::function<std::optional<std::string>()>& receive) {
  const Speaker other = self == Speaker::kAgent ? Speaker::kOperator : Speaker::kAgent;
  for (const Utterance& utterance : transcript.utterances) {
    const std::string kind = KindOf(utterance);
    if (utterance.speaker == self) {
      if (!send(utterance.bytes)) return absl::StrCat("nobody takes the ", kind);
      continue;
    }
    if (IsTimed(utterance)) continue;
    for (std::string heard; heard != kind;) {
      const std::optional<std::string> bytes = receive();
      if (!bytes.has_value()) return absl::StrCat("the ", NameOf(other), " sent no ", kind);
      heard = KindOf({other, *bytes});
    }
  }
  return "";
}

}  // namespace muster::wire
