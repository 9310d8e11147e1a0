#ifndef MUSTER_TRAINER_LOGS_CRC32C_H_
#define MUSTER_TRAINER_LOGS_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace muster::trainer {

// The CRC of Castagnoli's polynomial, as in RFC 3720, appendix B.4, for formats of others that ask
// for it; our own checksums are those of base/hash.h. A byte at a time: for records of a few
// hundred bytes.
uint32_t Crc32c(std::string_view bytes);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_LOGS_CRC32C_H_
