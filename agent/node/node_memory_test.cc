#include "agent/node/node_memory.h"

#include <string>

#include "absl/strings/numbers.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

constexpr char kFile[] = "/run/agent/faults.json";

absl::StatusOr<int> ParseCount(std::string_view text) {
  int count = 0;
  if (absl::SimpleAtoi(std::string(text), &count)) return count;
  return absl::InvalidArgumentError("the file: wants a number");
}

TEST(StateFileTest, WhatAnEarlierAgentKeptIsThere) {
  MemoryFiles files;
  ASSERT_TRUE(files.MakeDirectories("/run/agent").ok());
  ASSERT_TRUE(WriteFileAtomically(files, kFile, "79").ok());
  const auto kept = LoadStateFile(files, kFile, &ParseCount);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*kept, 79);
}

TEST(StateFileTest, AMachineThatStartedAnewHasNone) {
  MemoryFiles files;
  const auto none = LoadStateFile(files, kFile, &ParseCount);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, 0);
}

TEST(StateFileTest, AFileThatCannotBeReadOrUnderstoodIsAnError) {
  MemoryFiles files;
  ASSERT_TRUE(files.MakeDirectories("/run/agent").ok());
  for (const std::string& text : {std::string("x"), std::string((1 << 20) + 1, '1')}) {
    ASSERT_TRUE(WriteFileAtomically(files, kFile, text).ok());
    EXPECT_FALSE(LoadStateFile(files, kFile, &ParseCount).ok());
  }
}

}  // namespace
}  // namespace muster::agent
