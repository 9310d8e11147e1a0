#ifndef MUSTER_BASE_BYTE_TEXT_H_
#define MUSTER_BASE_BYTE_TEXT_H_

#include <cstdint>
#include <string>

namespace muster {

// Formats a size for messages, e.g. "1.5 GiB".
std::string ByteText(int64_t bytes);

}  // namespace muster

#endif  // MUSTER_BASE_BYTE_TEXT_H_
