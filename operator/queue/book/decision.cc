#include "operator/queue/book/decision.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::control {
namespace {

constexpr std::pair<UnplaceableReason, ScheduleReason> kReasonsOfPlace[] = {
    {UnplaceableReason::kInvalidRequest, ScheduleReason::kInvalidRequest},
    {UnplaceableReason::kNoNodeBigEnough, ScheduleReason::kNoNodeBigEnough},
    {UnplaceableReason::kInsufficient, ScheduleReason::kInsufficient},
    {UnplaceableReason::kTopology, ScheduleReason::kTopology},
    {UnplaceableReason::kSpotLimit, ScheduleReason::kSpotLimit},
};

// "12", "1.5 cores", "3.0 GiB": in the unit people think of.
std::string Amount(const std::string& resource, int64_t amount) {
  if (resource == "cpu") return absl::StrFormat("%g", static_cast<double>(amount) / 1000);
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" ||
                     absl::StartsWith(resource, "hugepages-");
  if (bytes) {
    return absl::StrFormat("%.1f GiB", static_cast<double>(amount) / (int64_t{1} << 30));
  }
  return absl::StrCat(amount);
}

std::string Start(const ScheduleNumbers& numbers, absl::Time now) {
  if (numbers.expected_start == absl::InfiniteFuture()) {
    return "; it is not known when the jobs ahead of it end";
  }
  const absl::Duration wait = absl::Trunc(numbers.expected_start - now, absl::Seconds(1));
  return absl::StrCat("; within ", absl::FormatDuration(wait),
                      " if running jobs end when they say");
}

std::string Short(const ScheduleNumbers& numbers) {
  return absl::StrCat(Amount(numbers.resource, numbers.needed), " ", numbers.resource, " needed, ",
                      Amount(numbers.resource, numbers.available), " available");
}

// A job that names no kind of GPU needs to be told why one counts against it.
std::string WhyThisKind(const std::string& resource) {
  if (!absl::StartsWith(resource, "nvidia.com/gpu/")) return "";
  return "; a job counts for each kind of GPU that its node selector lets in";
}

std::string WaitSentence(const Decision& decision, absl::Time now) {
  const ScheduleNumbers& numbers = decision.numbers;
  switch (decision.reason) {
    case ScheduleReason::kNoSuchQueue:
      return absl::StrCat("there is no usable queue \"", numbers.queue, "\"");
    case ScheduleReason::kQueueIsCohort:
      return absl::StrCat("queue \"", numbers.queue,
                          "\" is the parent of others: jobs wait in queues without children");
    case ScheduleReason::kQueueStopped:
      return absl::StrCat("queue \"", numbers.queue, "\" is stopped");
    case ScheduleReason::kNamespaceNotAdmitted:
      return absl::StrCat("queue \"", numbers.queue, "\" is not for jobs of ", decision.detail,
                          ": use another queue, or add the namespace to the queue's namespaces");
    case ScheduleReason::kExceedsQuota:
      return absl::StrCat(Amount(numbers.resource, numbers.needed), " ", numbers.resource,
                          " needed; queue \"", numbers.queue, "\" may never use more than ",
                          Amount(numbers.resource, numbers.limit), WhyThisKind(numbers.resource));
    case ScheduleReason::kNamespaceLimit:
      return absl::StrCat(Short(numbers), " of the namespace's limit in queue \"", numbers.queue,
                          "\"", WhyThisKind(numbers.resource));
    case ScheduleReason::kQuotaExhausted:
      return absl::StrCat(Short(numbers), " to queue \"", numbers.queue, "\"",
                          WhyThisKind(numbers.resource), Start(numbers, now),
                          decision.detail.empty() ? "" : "; ", decision.detail);
    case ScheduleReason::kHeldByReservation:
      return absl::StrCat("fits now, but would delay ", numbers.blocked_by,
                          ", which is ahead of it");
    case ScheduleReason::kWaitingForVictims:
      return absl::StrCat("waits for other jobs to make room", Start(numbers, now));
    case ScheduleReason::kBehind:
      return absl::StrCat(
          "others are ahead in queue \"", numbers.queue, "\"",
          numbers.position > 0 ? absl::StrCat("; position ", numbers.position) : "");
    case ScheduleReason::kFitsNowhere:
      return absl::StrCat(
          "would not fit even if all nodes that exist, existed lately or may be added were empty; "
          "it holds up no other job, and no job makes room for it",
          decision.detail.empty() ? "" : absl::StrCat("; now: ", decision.detail));
    case ScheduleReason::kInvalidRequest:
      return decision.detail;
    default:
      return absl::StrCat(decision.detail, Start(numbers, now));
  }
}

std::string GoSentence(const Decision& decision) {
  const ScheduleNumbers& numbers = decision.numbers;
  std::string sentence =
      decision.action == ScheduleAction::kStop
          ? absl::StrCat("stops for ", decision.for_job)
          : absl::StrCat("shrinks to ", decision.workers, " workers for ", decision.for_job);
  switch (decision.reason) {
    case ScheduleReason::kReclaimed:
      absl::StrAppend(&sentence, ", which takes back its queue's nominal quota");
      break;
    case ScheduleReason::kPriority:
      absl::StrAppend(&sentence, ", which has a higher priority");
      break;
    case ScheduleReason::kYielded:
      absl::StrAppend(&sentence, ", which waits for capacity that was free");
      break;
    case ScheduleReason::kBacklog:
      absl::StrAppend(&sentence, ", which has waited for the shrinkAfter of queue \"",
                      numbers.queue, "\"");
      break;
    default:
      absl::StrAppend(&sentence, ", which then fits");
      break;
  }
  absl::StrAppend(&sentence,
                  absl::StrFormat("; the jobs that make room lose %.0f GPU-seconds", numbers.cost));
  if (decision.reason == ScheduleReason::kDefragmented) {
    absl::StrAppend(&sentence, absl::StrFormat(" and save it %.0f", numbers.gain));
  } else if (numbers.cost_bound > 0) {
    absl::StrAppend(&sentence, absl::StrFormat(", at least %.0f whichever jobs are chosen",
                                               std::floor(numbers.cost_bound)));
  }
  return sentence;
}

}  // namespace

absl::string_view Name(ScheduleAction action) {
  switch (action) {
    case ScheduleAction::kStart:
      return "Start";
    case ScheduleAction::kWait:
      return "Wait";
    case ScheduleAction::kShrink:
      return "Shrink";
    case ScheduleAction::kStop:
      return "Stop";
    case ScheduleAction::kGrow:
      return "Grow";
  }
  return "";
}

absl::string_view Name(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kWithinQuota:
      return "WithinQuota";
    case ScheduleReason::kBorrowing:
      return "Borrowing";
    case ScheduleReason::kBackfilled:
      return "Backfilled";
    case ScheduleReason::kNoSuchQueue:
      return "NoSuchQueue";
    case ScheduleReason::kQueueIsCohort:
      return "QueueIsCohort";
    case ScheduleReason::kQueueStopped:
      return "QueueStopped";
    case ScheduleReason::kInvalidRequest:
      return "InvalidRequest";
    case ScheduleReason::kExceedsQuota:
      return "ExceedsQuota";
    case ScheduleReason::kNamespaceLimit:
      return "NamespaceLimit";
    case ScheduleReason::kQuotaExhausted:
      return "QuotaExhausted";
    case ScheduleReason::kNoNodeBigEnough:
      return "NoNodeBigEnough";
    case ScheduleReason::kInsufficient:
      return "Insufficient";
    case ScheduleReason::kTopology:
      return "Topology";
    case ScheduleReason::kHeldByReservation:
      return "HeldByReservation";
    case ScheduleReason::kWaitingForVictims:
      return "WaitingForVictims";
    case ScheduleReason::kBehind:
      return "Behind";
    case ScheduleReason::kReclaimed:
      return "Reclaimed";
    case ScheduleReason::kPriority:
      return "Priority";
    case ScheduleReason::kDefragmented:
      return "Defragmented";
    case ScheduleReason::kRoomAgain:
      return "RoomAgain";
    case ScheduleReason::kConstraints:
      return "Constraints";
    case ScheduleReason::kFitsNowhere:
      return "FitsNowhere";
    case ScheduleReason::kFreeCapacity:
      return "FreeCapacity";
    case ScheduleReason::kYielded:
      return "Yielded";
    case ScheduleReason::kSpotLimit:
      return "SpotLimit";
    case ScheduleReason::kNamespaceNotAdmitted:
      return "NamespaceNotAdmitted";
    case ScheduleReason::kBacklog:
      return "Backlog";
  }
  return "";
}

ScheduleReason ReasonOf(UnplaceableReason reason) {
  for (const auto& [of_place, of_queue] : kReasonsOfPlace) {
    if (of_place == reason) return of_queue;
  }
  return ScheduleReason::kInsufficient;
}

ScheduleReason ReasonOfName(absl::string_view place_reason) {
  for (const auto& [of_place, of_queue] : kReasonsOfPlace) {
    if (Name(of_place) == place_reason) return of_queue;
  }
  return ScheduleReason::kConstraints;
}

std::optional<UnplaceableReason> PlaceReasonOf(ScheduleReason reason) {
  for (const auto& [of_place, of_queue] : kReasonsOfPlace) {
    if (of_queue == reason) return of_place;
  }
  return std::nullopt;
}

std::string Sentence(const Decision& decision, absl::Time now) {
  const ScheduleNumbers& numbers = decision.numbers;
  switch (decision.action) {
    case ScheduleAction::kWait:
      return WaitSentence(decision, now);
    case ScheduleAction::kStop:
    case ScheduleAction::kShrink:
      return GoSentence(decision);
    case ScheduleAction::kGrow:
      return absl::StrCat("grows to ", decision.workers, " workers: ",
                          decision.reason == ScheduleReason::kFreeCapacity
                              ? "there is capacity that no other job waits for"
                              : "there is room again");
    case ScheduleAction::kStart:
      break;
  }
  std::string sentence = absl::StrCat("starts with ", decision.workers, " workers");
  switch (decision.reason) {
    case ScheduleReason::kBorrowing:
      return absl::StrCat(sentence, "; queue \"", numbers.queue, "\" borrows for it");
    case ScheduleReason::kBackfilled:
      return absl::StrCat(sentence, " ahead of others, without delaying them");
    default:
      return absl::StrCat(sentence, " within the nominal quota of queue \"", numbers.queue, "\"");
  }
}

}  // namespace muster::control
