#ifndef MUSTER_CLI_COMPLETION_H_
#define MUSTER_CLI_COMPLETION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"

namespace muster::cli {

// A command line as a shell has it while its user presses Tab.
struct TypedLine {
  std::vector<std::string> words;  // the first one is the program
  size_t at = 0;                   // the word to complete; words.size(): a new one
};

// These may stand in its place: words that begin as it does, and names of this kind.
struct Completion {
  std::vector<std::string> words;
  Names names = Names::kOther;
  std::string begin;   // as the name begins so far
  std::string before;  // stands before each name in one word with it: "--job=", or nothing
};

// By the flags and words of `commands` alone. bash gives --flag=value as three words, zsh as one;
// both are understood. Pure.
Completion Complete(const TypedLine& line, const std::vector<Command>& commands);

// The value of --state-dir on the line; empty when it is not there. Pure.
std::string StateDirOn(const TypedLine& line);

}  // namespace muster::cli

#endif  // MUSTER_CLI_COMPLETION_H_
