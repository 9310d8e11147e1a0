#ifndef MUSTER_AGENT_WORKER_RANKS_ERROR_FILE_H_
#define MUSTER_AGENT_WORKER_RANKS_ERROR_FILE_H_

#include <string>
#include <string_view>

namespace muster::agent {

// The file that torchrun names in TORCHELASTIC_ERROR_FILE: a script whose main function has
// torch.distributed.elastic's @record writes its uncaught exception there, as
// {"message": {"message": "ValueError: ...", "extraInfo": {...}}}, or with a plain string as the
// outer message. Both functions take whatever a script may have left there.

// Returns the exception, as one line of at most 500 bytes; empty if `text` has none.
std::string ExceptionOf(std::string_view text);

// Returns the exception in the file at `path`; empty if the file has none or cannot be read. Never
// blocks, and does not follow a symbolic link, because a script may have put anything there.
std::string ReadErrorFile(const std::string& path);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_ERROR_FILE_H_
