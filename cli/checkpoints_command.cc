// `muster checkpoints`: lists the checkpoints that a job, or a directory, can resume from, and
// those of runs that were given up, which are kept until they are pruned. It also exports the model
// of one of them.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/object_store/place.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/local_jobs.h"
#include "cli/run/generator.h"
#include "cli/show/progress_line.h"

namespace muster::cli {
namespace {

constexpr char kPrune[] = "prune";
constexpr char kExport[] = "export";
// Hugging Face's limit for a file of weights.
constexpr int64_t kMaxShardBytes = 5'000'000'000;

Json ToJson(const CheckpointListing& listing) {
  return {{"directory", listing.directory}, {"step", listing.step},
          {"attempt", listing.attempt},     {"bytes", listing.bytes},
          {"history", listing.history},     {"created", listing.created},
          {"complete", listing.complete},   {"problem", listing.problem}};
}

uint64_t BytesOf(const std::vector<CheckpointListing>& listings) {
  uint64_t bytes = 0;
  for (const CheckpointListing& listing : listings) bytes += listing.bytes;
  return bytes;
}

void Print(const std::string& directory, const std::vector<CheckpointListing>& listings,
           const std::vector<CheckpointListing>& abandoned) {
  std::printf("%s\n", directory.c_str());
  if (listings.empty()) {
    std::printf("  no checkpoints yet\n");
  } else {
    std::printf("  %-26s %10s %10s  %-22s %s\n", "NAME", "STEP", "SIZE", "CREATED", "STATE");
  }
  for (const CheckpointListing& l : listings) {
    std::printf("  %-26s %10s %10s  %-22s %s\n", l.directory.c_str(),
                l.step < 0 ? "-" : std::to_string(l.step).c_str(),
                ShortBytes(static_cast<double>(l.bytes)).c_str(), l.created.c_str(),
                l.complete ? "complete" : l.problem.c_str());
  }
  if (abandoned.empty()) return;
  std::printf("  %zu of runs that were given up, %s; `muster checkpoints prune` deletes them\n",
              abandoned.size(), ShortBytes(static_cast<double>(BytesOf(abandoned))).c_str());
}

// Deletes the abandoned checkpoints only.
absl::Status Prune(const CheckpointPlace& place, bool dry_run) {
  const std::string& directory = place.uri;
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files, OpenPlace(place));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> abandoned,
                          ListAbandoned(*files, directory));
  for (const CheckpointListing& listing : abandoned) {
    const std::string path = JoinPath(directory, listing.directory);
    if (!dry_run) MUSTER_RETURN_IF_ERROR(RemoveAll(*files, path));
    std::printf("%s %s  %s\n", dry_run ? "would delete" : "deleted", path.c_str(),
                ShortBytes(static_cast<double>(listing.bytes)).c_str());
    if (dry_run) continue;
    // Succeeds for the last checkpoint of a folder.
    if (!files->IsObjectStore()) files->Remove(ParentPath(path)).IgnoreError();
  }
  std::printf("%zu checkpoints of runs that were given up, %s\n", abandoned.size(),
              ShortBytes(static_cast<double>(BytesOf(abandoned))).c_str());
  return dry_run ? absl::OkStatus() : files->SyncDirectory(directory);
}

// Returns only if muster-generate, which writes the model, cannot be started.
absl::Status Export(const CheckpointPlace& place, const Flags& flags) {
  const std::string out = flags.Get("out", "");
  if (out.empty()) {
    return absl::InvalidArgumentError("export: --out is missing: the directory to write");
  }
  if (const auto why = WhyNoPlace(out, PlaceKind::kPath); why.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--out ", out, ": ", *why));
  }
  MUSTER_ASSIGN_OR_RETURN(const int64_t max_shard_bytes,
                          flags.GetInt("max-shard-bytes", kMaxShardBytes));
  if (max_shard_bytes < 1) return absl::InvalidArgumentError("--max-shard-bytes: want 1 or more");
  MUSTER_ASSIGN_OR_RETURN(const std::string checkpoint, ChooseCheckpoint(place, flags));
  const Json request = {
      {"checkpoint", checkpoint},         {"endpoint", place.store.endpoint},
      {"region", place.store.region},     {"out", Absolute(WithoutFileScheme(out))},
      {"maxShardBytes", max_shard_bytes}, {"json", flags.Has("json")}};
  if (ParseJson(DumpJson(request)).value_or(Json()) != request) {
    return absl::InvalidArgumentError("the path of the checkpoint or of --out is not valid UTF-8");
  }
  return BecomeGenerator(flags, request);
}

int List(const CheckpointPlace& place, bool json) {
  const std::string& directory = place.uri;
  const auto files = OpenPlace(place);
  if (!files.ok()) return Fail(files.status());
  const auto listings = ListCheckpoints(**files, directory);
  if (!listings.ok()) return Fail(listings.status());
  const auto abandoned = ListAbandoned(**files, directory);
  if (!abandoned.ok()) return Fail(abandoned.status());
  if (!json) {
    Print(directory, *listings, *abandoned);
    return kExitOk;
  }
  Json items = Json::array();
  for (const CheckpointListing& listing : *listings) items.push_back(ToJson(listing));
  std::printf("%s\n", DumpJson({{"directory", directory}, {"items", items}}, 2).c_str());
  return kExitOk;
}

}  // namespace

std::vector<FlagSpec> CheckpointsFlags() {
  return {{"state-dir", "where jobs keep their state"},
          {"dir", "a directory of checkpoints, or s3://BUCKET/PREFIX"},
          {"dry-run", "with prune: only say what would be deleted", /*is_switch=*/true},
          {"out", "with export: the directory to write, which is new or empty"},
          {"step", "with export: the checkpoint after this step; default the newest"},
          {"max-shard-bytes",
           "with export: how many bytes of weights a file may hold; default 5000000000"},
          {"json", "print JSON", /*is_switch=*/true},
          {"generator", "with export: path of muster-generate"}};
}

int CheckpointsMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, CheckpointsFlags());
  if (!flags.ok()) return Fail(flags.status());
  const std::vector<std::string>& words = flags->positional();
  const std::string verb = words.empty() ? "" : words[0];
  const size_t job = verb == kPrune || verb == kExport ? 1 : 0;
  if (words.size() > job + 1) {
    return Fail(absl::InvalidArgumentError(absl::StrCat("'", words[job + 1], "': name one job")));
  }
  const auto directory = CheckpointDirectory(*flags, words.size() > job ? words[job] : "");
  if (!directory.ok()) return Fail(directory.status());
  if (verb == kExport) return Fail(Export(*directory, *flags));
  if (verb != kPrune) return List(*directory, flags->Has("json"));
  const absl::Status pruned = Prune(*directory, flags->Has("dry-run"));
  return pruned.ok() ? kExitOk : Fail(pruned);
}

}  // namespace muster::cli
