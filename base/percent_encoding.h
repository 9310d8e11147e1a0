#ifndef MUSTER_BASE_PERCENT_ENCODING_H_
#define MUSTER_BASE_PERCENT_ENCODING_H_

#include <string>
#include <string_view>

namespace muster {

// Returns the text as a part of a URI: every byte but the unreserved ones of RFC 3986, and those of
// `kept`, as %XX with upper-case digits.
std::string PercentEncode(std::string_view text, std::string_view kept = "");

}  // namespace muster

#endif  // MUSTER_BASE_PERCENT_ENCODING_H_
