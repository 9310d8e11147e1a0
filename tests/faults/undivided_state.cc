#include "tests/faults/undivided_state.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "trainer/checkpoint/reader.h"

namespace muster::tests {
namespace {

// Generous even for a busy machine: a wait that exceeds this has failed.
constexpr absl::Duration kLong = absl::Minutes(5);

using State = std::map<std::string, std::vector<std::byte>>;

// Waits until the run has succeeded and returns every tensor of its last checkpoint, whatever files
// hold its parts.
State FinalState(LocalRun& run, Files& files, const std::function<std::string()>& checkpoint) {
  State state;
  const auto end = run.WaitForEnd(kLong);
  EXPECT_TRUE(end.ok() && end->code == 0) << end.status() << run.Output();
  const auto reader = trainer::CheckpointReader::Open(files, checkpoint());
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return state;
  for (const trainer::TensorRecord& tensor : (*reader)->manifest().tensors) {
    size_t bytes = trainer::ElementBytes(tensor.type);
    for (const int64_t length : tensor.shape) bytes *= static_cast<size_t>(length);
    std::vector<std::byte>& into = state[tensor.name];
    into.resize(bytes);
    const absl::Status read = (*reader)->Read(tensor.name, tensor.type, tensor.shape, into);
    EXPECT_TRUE(read.ok()) << read;
  }
  return state;
}

std::function<std::string()> InDirectory(const LocalRun& run, int steps) {
  return [&run, steps] { return JoinPath(run.Checkpoints(), CheckpointName(steps)); };
}

const State& UndividedState(int steps) {
  static auto* known = new std::map<int, State>;
  const auto [it, is_new] = known->try_emplace(steps);
  if (is_new) {
    const auto run =
        NewRun(absl::StrCat("undivided-", steps), {.steps = steps, .save_every = steps});
    EXPECT_TRUE(run->Start().ok());
    it->second = FinalState(*run, FileSystem(), InDirectory(*run, steps));
  }
  return it->second;
}

void ExpectEqual(const State& got, const State& want, const LocalRun& run) {
  ASSERT_FALSE(want.empty());
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, bytes] : want) {
    const auto found = got.find(name);
    ASSERT_NE(found, got.end()) << name;
    EXPECT_TRUE(found->second == bytes) << name << " differs\n" << run.Output();
  }
}

}  // namespace

void ExpectStateOf(LocalRun& undisturbed, LocalRun& run, int steps) {
  const State got = FinalState(run, FileSystem(), InDirectory(run, steps));
  ExpectEqual(got, FinalState(undisturbed, FileSystem(), InDirectory(undisturbed, steps)), run);
}

void ExpectUndividedState(LocalRun& run, int steps) {
  ExpectUndividedState(run, steps, FileSystem(), InDirectory(run, steps));
}

void ExpectUndividedState(LocalRun& run, int steps, Files& files,
                          const std::function<std::string()>& checkpoint) {
  ExpectEqual(FinalState(run, files, checkpoint), UndividedState(steps), run);
}

}  // namespace muster::tests
