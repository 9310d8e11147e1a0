#include "base/xml_text.h"

#include "absl/strings/str_replace.h"

namespace muster {

std::string EscapeXml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}});
}

}  // namespace muster
