#ifndef MUSTER_BASE_CHECKPOINT_CHECKPOINT_SHARE_H_
#define MUSTER_BASE_CHECKPOINT_CHECKPOINT_SHARE_H_

#include <string>
#include <string_view>

#include "base/json.h"

namespace muster {

// The shares of a checkpoint: the files that one rank each wrote, such as
// optimizer-00002-of-00004.safetensors. For the people who have to find one that is lost.

// Returns "rank 1 of 4" for the file above; empty for a file that is no share.
std::string WriterOfShare(std::string_view file);

// Returns "; rank 1 of 4 saved 12 tensors, or parts of them, in it: a, b, c and 9 more"; empty for
// a file that is no share. `manifest` is not trusted.
std::string ContentsOfShare(const Json& manifest, std::string_view file);

}  // namespace muster

#endif  // MUSTER_BASE_CHECKPOINT_CHECKPOINT_SHARE_H_
