#include "operator/kube/name_rules.h"

namespace muster::kube {
namespace {

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

bool IsDnsPart(std::string_view text) {
  if (text.empty() || !IsLower(text.front()) || !IsLower(text.back())) return false;
  for (const char c : text) {
    if (!IsLower(c) && c != '-') return false;
  }
  return true;
}

bool IsNamePart(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (!IsAlnum(text.front()) || !IsAlnum(text.back())) return false;
  for (const char c : text) {
    if (!IsAlnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

}  // namespace

bool IsDnsLabel(std::string_view text) { return text.size() <= 63 && IsDnsPart(text); }

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!IsDnsPart(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsNamePart(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsNamePart(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsNamePart(text); }

}  // namespace muster::kube
