#include "operator/queue/record/decision_json.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "operator/queue/record/recorded_input.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

namespace muster::control {
namespace {

using google::protobuf::Message;

absl::StatusOr<Json> MessageToJson(const Message& message) {
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text).ok()) {
    return absl::InternalError("a decision cannot be written as JSON");
  }
  return ParseJson(text);
}

absl::Status JsonToMessage(const Json& json, const char* part, Message& message) {
  if (json.contains(part) &&
      google::protobuf::util::JsonStringToMessage(DumpJson(json[part]), &message).ok()) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("this is no record of a decision: its ", part, " is missing or damaged"));
}

}  // namespace

std::vector<DecisionLine> LinesOf(const DecisionRecord& record,
                                  const std::vector<Decision>& decisions) {
  std::map<std::string, std::string> names;
  for (const QueuedJob& job : record.input.snapshot.jobs) {
    names[job.uid] = job.ns.empty() ? job.name : absl::StrCat(job.ns, "/", job.name);
  }
  std::vector<DecisionLine> lines;
  for (const Decision& decision : decisions) {
    const std::string& name = names[decision.job];
    lines.push_back({std::string(Name(decision.action)), name.empty() ? decision.job : name,
                     std::string(Name(decision.reason)), Sentence(decision, record.input.now)});
  }
  return lines;
}

Json ToJson(const std::vector<DecisionLine>& lines) {
  Json list = Json::array();
  for (const DecisionLine& line : lines) {
    list.push_back({{"action", line.action},
                    {"job", line.job},
                    {"reason", line.reason},
                    {"sentence", line.sentence}});
  }
  return list;
}

std::string DecisionTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

absl::StatusOr<Json> ToJson(const DecisionRecord& record) {
  MUSTER_ASSIGN_OR_RETURN(const auto decisions, DecodeOutcome(record.outcome));
  v1alpha1::RecordedOutcome outcome;
  outcome.ParseFromString(record.outcome);
  MUSTER_ASSIGN_OR_RETURN(Json input_json, MessageToJson(ToRecorded(record.input)));
  MUSTER_ASSIGN_OR_RETURN(Json outcome_json, MessageToJson(outcome));
  const Snapshot& snapshot = record.input.snapshot;
  return Json{{"decision", record.id},
              {"time", DecisionTime(record.input.now)},
              {"nodes", snapshot.inventory.nodes.size()},
              {"jobs", snapshot.jobs.size()},
              {"queues", snapshot.queues.size()},
              {"decided", ToJson(LinesOf(record, decisions))},
              {"input", std::move(input_json)},
              {"outcome", std::move(outcome_json)}};
}

absl::StatusOr<DecisionRecord> RecordFromJson(const Json& json) {
  if (!json.is_object() || !json.contains("decision") || !json["decision"].is_number_unsigned()) {
    return absl::DataLossError("this is no record of a decision");
  }
  v1alpha1::RecordedInput input;
  v1alpha1::RecordedOutcome outcome;
  MUSTER_RETURN_IF_ERROR(JsonToMessage(json, "input", input));
  MUSTER_RETURN_IF_ERROR(JsonToMessage(json, "outcome", outcome));
  DecisionRecord record;
  record.id = json["decision"].get<uint64_t>();
  MUSTER_ASSIGN_OR_RETURN(record.input, FromRecorded(input));
  record.outcome = outcome.SerializeAsString();
  return record;
}

}  // namespace muster::control
