// `muster checkpoints`: what a job, or a directory, can go on from.

#include <cstdio>
#include <string>
#include <vector>

#include "base/checkpoint_listing.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/job_paths.h"
#include "cli/local_jobs.h"
#include "cli/progress_line.h"

namespace muster::cli {
namespace {

absl::StatusOr<std::string> DirectoryOf(const Flags& flags) {
  if (flags.Has("dir")) return Absolute(flags.Get("dir", ""));
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(
      const JobPaths paths,
      FindJob(FileSystem(), root, flags.positional().empty() ? "" : flags.positional()[0]));
  MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, ReadJob(paths));
  if (!job.spec.has_checkpoint()) {
    return absl::NotFoundError("job " + job.name +
                               " saves no checkpoints: it has no spec.checkpoint");
  }
  return job.spec.checkpoint().uri();
}

Json ToJson(const CheckpointListing& listing) {
  return {{"directory", listing.directory}, {"step", listing.step},
          {"attempt", listing.attempt},     {"bytes", listing.bytes},
          {"created", listing.created},     {"complete", listing.complete},
          {"problem", listing.problem}};
}

void Print(const std::string& directory, const std::vector<CheckpointListing>& listings) {
  std::printf("%s\n", directory.c_str());
  if (listings.empty()) {
    std::printf("  no checkpoints yet\n");
    return;
  }
  std::printf("  %-26s %10s %10s  %-22s %s\n", "NAME", "STEP", "SIZE", "CREATED", "STATE");
  for (const CheckpointListing& l : listings) {
    std::printf("  %-26s %10s %10s  %-22s %s\n", l.directory.c_str(),
                l.step < 0 ? "-" : std::to_string(l.step).c_str(),
                ShortBytes(static_cast<double>(l.bytes)).c_str(), l.created.c_str(),
                l.complete ? "complete" : l.problem.c_str());
  }
}

}  // namespace

int CheckpointsMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, {{"state-dir", "where jobs keep their state"},
                                              {"dir", "a directory of checkpoints"},
                                              {"json", "print JSON", true}});
  if (!flags.ok()) return Fail(flags.status());
  const auto directory = DirectoryOf(*flags);
  if (!directory.ok()) return Fail(directory.status());
  const auto listings = ListCheckpoints(FileSystem(), *directory);
  if (!listings.ok()) return Fail(listings.status());
  if (flags->Has("json")) {
    Json items = Json::array();
    for (const CheckpointListing& listing : *listings) items.push_back(ToJson(listing));
    std::printf("%s\n", DumpJson({{"directory", *directory}, {"items", items}}, 2).c_str());
  } else {
    Print(*directory, *listings);
  }
  return kExitOk;
}

}  // namespace muster::cli
