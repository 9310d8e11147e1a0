#include "trainer/checkpoint/catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// The size of a piece that is hashed while it lies in the core's own cache.
constexpr size_t kReadBytes = size_t{256} << 10;

absl::StatusOr<std::string> ChecksumOf(const ReadableFile& file) {
  Hasher128 hasher;
  std::string buffer;
  for (uint64_t at = 0; at < file.size(); at += buffer.size()) {
    buffer.resize(std::min<uint64_t>(kReadBytes, file.size() - at));
    MUSTER_RETURN_IF_ERROR(file.Read(at, buffer.data(), buffer.size()));
    hasher.Update(buffer);
  }
  return hasher.Hex();
}

absl::Status VerifyFiles(Files& files, const std::string& path, const Manifest& manifest) {
  for (const FileRecord& record : manifest.files) {
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file,
                            files.Open(JoinPath(path, record.name)));
    if (file->size() != record.bytes) {
      return absl::DataLossError(
          absl::StrCat(record.name, " has ", file->size(), " bytes, not ", record.bytes));
    }
    MUSTER_ASSIGN_OR_RETURN(const std::string checksum, ChecksumOf(*file));
    if (checksum != record.checksum) {
      return absl::DataLossError(absl::StrCat("corrupted: ", record.name, " has checksum ",
                                              checksum, ", not ", record.checksum));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FoundCheckpoint> FindNewestCheckpoint(
    Files& files, const std::string& uri,
    const std::function<absl::Status(const Manifest&)>& accept) {
  FoundCheckpoint found;
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings,
                          ListCheckpoints(files, uri));
  for (const CheckpointListing& listing : listings) {
    if (!listing.complete) {
      found.skipped.push_back({listing.directory, listing.problem});
      continue;
    }
    if (found.reader != nullptr) continue;
    const std::string path = JoinPath(uri, listing.directory);
    absl::StatusOr<std::unique_ptr<CheckpointReader>> reader = CheckpointReader::Open(files, path);
    absl::Status status = reader.status();
    if (status.ok() && accept) {
      const absl::Status accepted = accept((*reader)->manifest());
      if (!accepted.ok()) {
        return absl::Status(accepted.code(), absl::StrCat(path, ": ", accepted.message()));
      }
    }
    if (status.ok()) status = VerifyFiles(files, path, (*reader)->manifest());
    if (!status.ok()) {
      found.skipped.push_back({listing.directory, std::string(status.message())});
      continue;
    }
    found.reader = *std::move(reader);
    found.directory = listing.directory;
  }
  return found;
}

absl::Status VerifyCheckpoint(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(files, path));
  return VerifyFiles(files, path, reader->manifest());
}

}  // namespace muster::trainer
