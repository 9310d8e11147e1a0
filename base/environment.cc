#include "base/environment.h"

#include <cstdlib>

namespace muster {

std::string ExpandVariables(const std::string& text, const Environment& environment) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const size_t close = next == '(' ? text.find(')', i) : std::string::npos;
    if (text[i] == '$' && next == '$') {
      out += '$';
      ++i;
    } else if (text[i] == '$' && close != std::string::npos) {
      const auto it = environment.find(text.substr(i + 2, close - i - 2));
      out += it == environment.end() ? text.substr(i, close - i + 1) : it->second;
      i = close;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string EnvironmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace muster
