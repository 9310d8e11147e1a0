#ifndef MUSTER_CLI_FLAGS_COMPLETION_H_
#define MUSTER_CLI_FLAGS_COMPLETION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/flags/command.h"
#include "cli/flags/flags.h"

namespace muster::cli {

// A command line at the moment when the user presses Tab.
struct TypedLine {
  std::vector<std::string> words;  // the first one is the program
  size_t at = 0;                   // index of the word to complete; words.size(): a new one
};

// The completions of a word: words that begin like it, and names of this kind.
struct Completion {
  std::vector<std::string> words;
  Names names = Names::kOther;
  std::string begin;   // the beginning of the name typed so far
  std::string before;  // precedes each name in the same word: "--job=", or nothing
};

// Completes by the flags and words of `commands` alone. bash passes --flag=value as three words,
// zsh as one; both are understood. Pure.
Completion Complete(const TypedLine& line, const std::vector<Command>& commands);

// Returns the value of --state-dir on the line; empty if it is absent. Pure.
std::string StateDirOn(const TypedLine& line);

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_COMPLETION_H_
