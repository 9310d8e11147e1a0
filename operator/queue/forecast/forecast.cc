#include "operator/queue/forecast/forecast.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/forecast/headroom.h"
#include "operator/queue/room/gang_question.h"

namespace muster::control {
namespace {

constexpr size_t kMostNames = 3;

// Returns true for reasons that do not pass when other jobs end.
bool IsForever(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kNoSuchQueue:
    case ScheduleReason::kQueueIsCohort:
    case ScheduleReason::kQueueStopped:
    case ScheduleReason::kNamespaceNotAdmitted:
    case ScheduleReason::kInvalidRequest:
    case ScheduleReason::kExceedsQuota:
      return true;
    default:
      return false;
  }
}

AwaitedJob Awaited(const ScheduleRollout::Gone& gone) {
  const QueuedJob& job = gone.job;
  return {job.uid, job.ns, job.name, gone.at, gone.to - gone.from, gone.told};
}

class Forecaster {
 public:
  Forecaster(const DecisionInput& input, const std::string& uid,
             const ScheduleRollout::Asked& asked)
      : uid_(uid), future_(input, asked) {}

  StartForecast Run(const ForecastLimits& limits, const FirstCycle& first);

 private:
  JobEntry& entry() { return *future_.book().state().jobs.at(uid_); }
  void CountRunning();
  // Returns false if more of the future has to be looked at.
  bool Read(const std::vector<Decision>& decisions);
  void NameAwaited();
  StartForecast NotBefore();
  void NobodyEnds();
  bool JobHasInterPodConstraints();
  bool HasPlacesAlone();

  const std::string uid_;
  ScheduleRollout future_;
  StartForecast forecast_;
};

void Forecaster::CountRunning() {
  for (const auto& [uid, entry] : future_.book().state().jobs) {
    if (!entry->job.running()) continue;
    ++forecast_.running;
    const bool endless = !entry->job.ends && entry->job.leaving == 0;
    forecast_.running_endless += endless ? 1 : 0;
  }
}

bool Forecaster::Read(const std::vector<Decision>& decisions) {
  for (const Decision& decision : decisions) {
    const bool starts = decision.action == ScheduleAction::kStart;
    if (decision.job != uid_) {
      forecast_.ahead += starts ? 1 : 0;
      continue;
    }
    if (starts) {
      forecast_.at = future_.now();
      forecast_.workers = decision.workers;
      forecast_.placement = decision.placement;
      NameAwaited();
      return true;
    }
    if (decision.reason == ScheduleReason::kFitsNowhere) {
      forecast_.kind = StartKind::kNoRoom;
      return true;
    }
    if (IsForever(decision.reason)) {
      forecast_.kind = StartKind::kNever;
      forecast_.never = Sentence(decision, future_.now());
      return true;
    }
  }
  return false;
}

// A gang with inter-pod constraints may have had room all the while: then the jobs that went last
// were in its way.
void Forecaster::NameAwaited() {
  std::vector<ScheduleRollout::Gone> needed = Headroom(future_, entry()).Needed(future_.gone());
  const auto went_now = [this](const ScheduleRollout::Gone& gone) {
    return gone.at == future_.now();
  };
  if (JobHasInterPodConstraints() && std::none_of(needed.begin(), needed.end(), went_now)) {
    std::copy_if(future_.gone().begin(), future_.gone().end(), std::back_inserter(needed),
                 went_now);
  }
  for (const ScheduleRollout::Gone& gone : needed) forecast_.awaited.push_back(Awaited(gone));
}

StartForecast Forecaster::NotBefore() {
  forecast_.kind = StartKind::kNotBefore;
  forecast_.at = future_.now();
  return std::move(forecast_);
}

// All jobs that state an end have ended, and it still has no room.
void Forecaster::NobodyEnds() {
  std::vector<ScheduleRollout::Gone> endless;
  for (const auto& [uid, entry] : future_.book().state().jobs) {
    const QueuedJob& job = entry->job;
    if (job.running()) endless.push_back({job, 0, job.workers(), absl::InfiniteFuture(), false});
  }
  std::sort(endless.begin(), endless.end(),
            [](const auto& a, const auto& b) { return a.job.uid < b.job.uid; });
  Headroom room(future_, entry());
  for (const ScheduleRollout::Gone& one : endless) room.Leave(one.job, one.from, one.to);
  const bool has_quota = room.HasQuota();
  bool fits = room.Fits();
  if (fits) {
    for (const ScheduleRollout::Gone& one : room.Needed(endless))
      forecast_.awaited.push_back(Awaited(one));
  }
  if (JobHasInterPodConstraints()) fits = has_quota && HasPlacesAlone();
  forecast_.kind = fits ? StartKind::kUnknown : StartKind::kNoRoom;
  if (!fits) forecast_.awaited.clear();
}

bool Forecaster::JobHasInterPodConstraints() {
  return HasInterPodConstraints(future_.gate().NodesFor(uid_).get());
}

bool Forecaster::HasPlacesAlone() {
  future_.EndAll();
  GangRequest request = entry().job.request;
  request.max = request.min;
  const std::optional<GangAnswer> answer = future_.gate().PlacesFor(
      QuestionAbout(future_.now(), future_.book().state(), entry(), std::move(request)));
  return !answer || !answer->nodes.empty();
}

StartForecast Forecaster::Run(const ForecastLimits& limits, const FirstCycle& first) {
  CountRunning();
  int64_t looks = 0;
  for (int cycle = 0;; ++cycle) {
    const std::vector<Decision> decisions = future_.Decide();
    if (cycle == 0 && first) first(future_, decisions);
    if (future_.exhausted()) return NotBefore();
    if (Read(decisions)) {
      const bool starts = forecast_.workers > 0;
      if (starts) forecast_.kind = cycle == 0 ? StartKind::kNow : StartKind::kAt;
      return std::move(forecast_);
    }
    looks += static_cast<int64_t>(decisions.size());
    if (cycle >= limits.cycles || looks >= limits.looks) return NotBefore();
    if (!future_.Advance()) break;
  }
  NobodyEnds();
  return std::move(forecast_);
}

std::string NameOf(const AwaitedJob& job) { return absl::StrCat(job.ns, "/", job.name); }

std::string Names(const std::vector<AwaitedJob>& jobs) {
  std::string names = NameOf(jobs.front());
  for (size_t i = 1; i < jobs.size(); ++i) {
    absl::StrAppend(&names, i + 1 == jobs.size() ? " and " : ", ", NameOf(jobs[i]));
  }
  return names;
}

std::string WhoEnds(const StartForecast& forecast) {
  const std::vector<AwaitedJob>& jobs = forecast.awaited;
  if (jobs.empty()) return "";
  const bool told = std::all_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.told; });
  const bool one = jobs.size() == 1;
  if (jobs.size() > kMostNames) {
    return absl::StrCat(", when ", jobs.size(), told ? " jobs have made room" : " jobs have ended",
                        ", ", NameOf(jobs.back()), " the last of them");
  }
  if (told) return absl::StrCat(", when ", Names(jobs), one ? " has" : " have", " made room");
  return absl::StrCat(", when ", Names(jobs), one ? " ends" : " have ended");
}

std::string Ahead(const StartForecast& forecast) {
  if (forecast.ahead == 0) return "";
  return absl::StrCat("; ", forecast.ahead, forecast.ahead == 1 ? " job starts" : " jobs start",
                      " before it");
}

std::string Unknown(const StartForecast& forecast) {
  if (forecast.running > 0 && forecast.running == forecast.running_endless) {
    return "starts at an unknown time: no running job says when it ends";
  }
  const std::vector<AwaitedJob>& jobs = forecast.awaited;
  if (jobs.empty())
    return "starts at an unknown time: the jobs that start before it do not say when they end";
  if (jobs.size() > kMostNames) {
    return absl::StrCat("starts at an unknown time: ", jobs.size(),
                        " jobs have to end that do not say when");
  }
  return absl::StrCat(
      "starts at an unknown time: ", Names(jobs),
      jobs.size() == 1 ? " has to end and does not say when" : " have to end and do not say when");
}

}  // namespace

absl::string_view Name(StartKind kind) {
  switch (kind) {
    case StartKind::kNow:
      return "Now";
    case StartKind::kAt:
      return "At";
    case StartKind::kNotBefore:
      return "NotBefore";
    case StartKind::kUnknown:
      return "Unknown";
    case StartKind::kNoRoom:
      return "NoRoom";
    case StartKind::kNever:
      return "Never";
  }
  return "";
}

StartForecast ForecastStart(const DecisionInput& input, const std::string& uid,
                            const ForecastLimits& limits, GangGate* gate, const FirstCycle& first) {
  return Forecaster(input, uid, {gate, uid, limits.questions}).Run(limits, first);
}

std::string About(absl::Duration duration) {
  const int64_t minutes = absl::ToInt64Minutes(duration + absl::Seconds(30));
  if (minutes < 1) return absl::StrCat(std::max<int64_t>(1, absl::ToInt64Seconds(duration)), " s");
  if (minutes < 120) return absl::StrCat(minutes, " min");
  const int64_t hours = minutes / 60;
  if (hours >= 48) return absl::StrCat(hours / 24, " d ", hours % 24, " h");
  return absl::StrCat(hours, " h ", minutes % 60, " min");
}

std::string Sentence(const StartForecast& forecast, absl::Time now) {
  switch (forecast.kind) {
    case StartKind::kNow:
      return "starts now";
    case StartKind::kAt:
      return absl::StrCat("starts in about ", About(forecast.at - now), WhoEnds(forecast),
                          Ahead(forecast));
    case StartKind::kNotBefore:
      return absl::StrCat("starts in ", About(forecast.at - now),
                          " at the earliest: the forecast looks no further ahead", Ahead(forecast));
    case StartKind::kUnknown:
      return absl::StrCat(Unknown(forecast), Ahead(forecast));
    case StartKind::kNoRoom:
      return "does not start on this cluster as it is: there would be no room if every job ended";
    case StartKind::kNever:
      return absl::StrCat("never starts as things are: ", forecast.never);
  }
  return "";
}

}  // namespace muster::control
