#ifndef MUSTER_AGENT_REPLICAS_COPY_FIXTURE_H_
#define MUSTER_AGENT_REPLICAS_COPY_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/replica.pb.h"

// Copies of a rank's state as a trainer leaves them, for tests.
namespace muster::agent {

inline constexpr char kJobUid[] = "job-uid";

inline v1alpha1::WorkerId WorkerNamed(int index, const std::string& job_uid = kJobUid) {
  v1alpha1::WorkerId worker;
  worker.set_job_uid(job_uid);
  worker.set_index(index);
  worker.set_incarnation(1);
  return worker;
}

// Writes a complete copy of `step` that holds `bytes` into `folder`, and returns its path. It is
// renamed to its name when it is whole, as by a trainer.
inline std::string WriteCopy(Files& files, const std::string& folder, int64_t step,
                             const std::string& bytes, const std::string& job_uid = kJobUid) {
  const std::string partial = JoinPath(folder, PartialCheckpointName(step, 1));
  EXPECT_TRUE(files.MakeDirectories(partial).ok());
  const Json manifest = {
      {"run",
       {{"step", step}, {"attempt", 1}, {"job_uid", job_uid}, {"history", "00000000000000aa"}}},
      {"files", Json::array({{{"name", "state.safetensors"},
                              {"bytes", bytes.size()},
                              {"checksum", Hash128Hex(bytes)}}})}};
  const std::string text = DumpJson(manifest);
  const auto write = [&](const std::string& name, const std::string& contents) {
    EXPECT_TRUE(WriteFileAtomically(files, JoinPath(partial, name), contents).ok());
  };
  write("state.safetensors", bytes);
  write(kManifestName, text);
  write(kDoneName, CheckpointDoneContents(text));
  const std::string path = JoinPath(folder, CheckpointName(step));
  EXPECT_TRUE(files.Rename(partial, path).ok());
  return path;
}

// Returns the parts of a copy's stream.
inline std::vector<v1alpha1::ReplicaPart> PartsOf(Files& files, const std::string& path, int worker,
                                                  int local_rank = 0) {
  std::vector<v1alpha1::ReplicaPart> parts;
  const absl::Status sent = SendCopy(files, path, WorkerNamed(worker), local_rank,
                                     [&](const v1alpha1::ReplicaPart& part) {
                                       parts.push_back(part);
                                       return absl::OkStatus();
                                     });
  EXPECT_TRUE(sent.ok()) << sent;
  return parts;
}

inline std::string StateIn(Files& files, const std::string& copy) {
  return ReadFile(files, JoinPath(copy, "state.safetensors")).value_or("none");
}

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_COPY_FIXTURE_H_
