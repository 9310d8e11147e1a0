#ifndef MUSTER_BASE_XML_TEXT_H_
#define MUSTER_BASE_XML_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Returns `text` for the contents of an element of XML or SVG, or for an attribute in single
// quotes.
std::string EscapeXml(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_XML_TEXT_H_
