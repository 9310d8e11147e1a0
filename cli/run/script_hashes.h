#ifndef MUSTER_CLI_RUN_SCRIPT_HASHES_H_
#define MUSTER_CLI_RUN_SCRIPT_HASHES_H_

#include <string>
#include <vector>

#include "base/files/files.h"

namespace muster::cli {

// Returns a JSON object that maps the names of a command's scripts to hashes of their contents: the
// program itself if it is given by its path, and every file named by a word of the command, or of a
// shell line in it, with a script's first line (#!) or ending (.py, .sh, ...). Other files count as
// data, which a command may write itself. Relative names start at `directory`.
std::string ScriptHashes(const std::vector<std::string>& command, const std::string& directory,
                         Files& files);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_SCRIPT_HASHES_H_
