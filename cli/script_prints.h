#ifndef MUSTER_CLI_SCRIPT_PRINTS_H_
#define MUSTER_CLI_SCRIPT_PRINTS_H_

#include <string>
#include <vector>

#include "base/files.h"

namespace muster::cli {

// The scripts that a command names, as a JSON object of their names with a hash of their contents:
// the program itself where it is given by its path, and every file that a word of it, or of a shell
// line in it, names and that has a script's first line (#!) or ending (.py, .sh, ...). Other files
// are data, which a command may well write itself. Relative names begin at `directory`.
std::string ScriptPrints(const std::vector<std::string>& command, const std::string& directory,
                         Files& files);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SCRIPT_PRINTS_H_
