// `muster replay`: replays past decisions of the scheduler, from the ring on disk or from the
// operator that keeps it.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/local_jobs.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/record/decision_json.h"
#include "operator/queue/record/decision_record.h"
#include "operator/scheduler/record/decision_ring.h"

namespace muster::cli {
namespace {

using control::Decision;
using control::DecisionLine;
using control::DecisionRecord;
using control::DecisionTime;
using control::LinesOf;

absl::StatusOr<std::string> DirectoryOf(const Flags& flags) {
  if (flags.Has("dir")) return flags.Get("dir", "");
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const JobPaths paths,
                          FindJob(FileSystem(), root, flags.Get("job", ""), kChooseByFlag));
  return paths.decisions();
}

// The recorded decisions and the replayed ones.
struct Replayed {
  std::vector<DecisionLine> then;
  std::vector<DecisionLine> now;
  bool same = false;  // byte for byte
};

absl::StatusOr<Replayed> ReplayRecord(const DecisionRecord& record) {
  MUSTER_ASSIGN_OR_RETURN(const auto then, control::DecodeOutcome(record.outcome));
  const std::vector<Decision> now = control::Replay(record.input);
  return Replayed{LinesOf(record, then), LinesOf(record, now),
                  control::EncodeOutcome(now) == record.outcome};
}

void PrintText(const DecisionRecord& record, const Replayed& replayed) {
  const control::Snapshot& snapshot = record.input.snapshot;
  std::printf("decision %lu of %s: %zu nodes, %zu jobs, %zu queues\n", record.id,
              DecisionTime(record.input.now).c_str(), snapshot.inventory.nodes.size(),
              snapshot.jobs.size(), snapshot.queues.size());
  const auto print = [](const char* mark, const DecisionLine& line) {
    std::printf("%s%-6s %s  %s: %s\n", mark, line.action.c_str(), line.job.c_str(),
                line.reason.c_str(), line.sentence.c_str());
  };
  for (size_t i = 0; i < std::max(replayed.then.size(), replayed.now.size()); ++i) {
    const DecisionLine* then = i < replayed.then.size() ? &replayed.then[i] : nullptr;
    const DecisionLine* now = i < replayed.now.size() ? &replayed.now[i] : nullptr;
    const bool differ = then == nullptr || now == nullptr || !(*then == *now);
    if (then != nullptr) print(differ ? "- " : "  ", *then);
    if (differ && now != nullptr) print("+ ", *now);
  }
  std::printf("%s\n",
              replayed.same
                  ? "replayed: the same, byte for byte"
                  : "replayed: NOT the same; a line with - was decided then, one with + now");
}

Json ToJson(const DecisionRecord& record, const Replayed& replayed) {
  const control::Snapshot& snapshot = record.input.snapshot;
  return {{"decision", record.id},
          {"time", DecisionTime(record.input.now)},
          {"nodes", snapshot.inventory.nodes.size()},
          {"jobs", snapshot.jobs.size()},
          {"queues", snapshot.queues.size()},
          {"decided", control::ToJson(replayed.then)},
          {"replayed", control::ToJson(replayed.now)},
          {"same", replayed.same}};
}

absl::StatusOr<DecisionRecord> Find(const Flags& flags, uint64_t id) {
  if (flags.Has("server")) {
    MUSTER_ASSIGN_OR_RETURN(const LiveOperator live, ServerAt(FileSystem(), flags));
    MUSTER_ASSIGN_OR_RETURN(const Json page,
                            CallOperator(live, "GET", absl::StrCat("/api/v1/decisions/", id)));
    return control::RecordFromJson(page);
  }
  MUSTER_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(flags));
  return control::FindDecision(FileSystem(), directory, id);
}

absl::StatusOr<bool> ReplayOne(const Flags& flags, uint64_t id) {
  MUSTER_ASSIGN_OR_RETURN(const DecisionRecord record, Find(flags, id));
  MUSTER_ASSIGN_OR_RETURN(const Replayed replayed, ReplayRecord(record));
  if (flags.Has("json")) {
    std::printf("%s\n", DumpJson(ToJson(record, replayed), 2).c_str());
  } else {
    PrintText(record, replayed);
  }
  return replayed.same;
}

// Prints a line for each recorded decision; all of them are replayed.
absl::StatusOr<bool> ReplayAll(const Flags& flags) {
  if (flags.Has("server")) {
    return absl::InvalidArgumentError("which decision? muster replay DECISION --server ADDRESS");
  }
  MUSTER_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(flags));
  absl::Status failed;
  Json list = Json::array();
  int64_t differ = 0;
  MUSTER_RETURN_IF_ERROR(control::ReadDecisions(FileSystem(), directory, [&](const auto& record) {
    absl::StatusOr<Replayed> replayed =
        record.ok() ? ReplayRecord(*record) : absl::StatusOr<Replayed>(record.status());
    if (!replayed.ok()) {
      failed = replayed.status();
      return true;
    }
    if (!replayed->same) ++differ;
    list.push_back({{"decision", record->id},
                    {"time", DecisionTime(record->input.now)},
                    {"decided", replayed->then.size()},
                    {"same", replayed->same}});
    return true;
  }));
  if (flags.Has("json")) {
    std::printf("%s\n", DumpJson(list, 2).c_str());
  } else {
    for (const Json& one : list) {
      std::printf("%8ld  %s  %3ld decided%s\n", one["decision"].get<int64_t>(),
                  one["time"].get<std::string>().c_str(), one["decided"].get<int64_t>(),
                  one["same"].get<bool>() ? "" : "  NOT the same when replayed");
    }
    std::printf("%zu decisions, %ld of them replay differently\n", list.size(), differ);
  }
  if (!failed.ok()) return failed;
  return differ == 0;
}

absl::StatusOr<bool> Run(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(const std::string decision, flags.OnePositional());
  if (decision.empty()) return ReplayAll(flags);
  uint64_t id = 0;
  if (!absl::SimpleAtoi(decision, &id)) {
    return absl::InvalidArgumentError(absl::StrCat("a decision is a number, not '", decision, "'"));
  }
  return ReplayOne(flags, id);
}

}  // namespace

std::vector<FlagSpec> ReplayFlags() {
  std::vector<FlagSpec> flags = {
      {"dir", "the directory of an operator's decisions (its --decision-log-dir)"},
      {"job", "or: the job of this machine whose operator keeps them", false, Names::kJob},
      {"state-dir", "where jobs of this machine keep their state"},
      {"json", "print the decision as JSON", /*is_switch=*/true},
  };
  for (const FlagSpec& flag : ServerFlags()) flags.push_back(flag);
  return flags;
}

int ReplayMain(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Flags> flags = Flags::Parse(arguments, ReplayFlags());
  if (!flags.ok()) return Fail(flags.status());
  const absl::StatusOr<bool> same = Run(*flags);
  if (!same.ok()) return Fail(same.status());
  return *same ? kExitOk : kExitFailed;
}

}  // namespace muster::cli
