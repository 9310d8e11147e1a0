#include "base/object_store/xml_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr int kMostDepth = 16;

bool IsNameByte(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void AppendUtf8(uint32_t point, std::string& out) {
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    out += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3f));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), size_(text.size()) {}

  absl::StatusOr<XmlElement> Document() {
    Take("\xef\xbb\xbf");
    SkipSpace();
    if (Take("<?xml")) MUSTER_RETURN_IF_ERROR(SkipPast("?>"));
    MUSTER_RETURN_IF_ERROR(SkipSpaceAndComments());
    XmlElement root;
    MUSTER_RETURN_IF_ERROR(Element(0, root));
    MUSTER_RETURN_IF_ERROR(SkipSpaceAndComments());
    if (!text_.empty()) return Wrong("more follows the document");
    return root;
  }

 private:
  absl::Status Wrong(const char* what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("not a document of a store: byte ", size_ - text_.size(), ": ", what));
  }

  bool Take(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  void SkipSpace() {
    while (!text_.empty() && absl::ascii_isspace(text_.front())) text_.remove_prefix(1);
  }

  absl::Status SkipPast(std::string_view token) {
    const size_t at = text_.find(token);
    if (at == std::string_view::npos) return Wrong("it ends too early");
    text_.remove_prefix(at + token.size());
    return absl::OkStatus();
  }

  absl::Status SkipSpaceAndComments() {
    for (SkipSpace(); Take("<!--"); SkipSpace()) MUSTER_RETURN_IF_ERROR(SkipPast("-->"));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Name() {
    size_t length = 0;
    while (length < text_.size() && IsNameByte(text_[length])) ++length;
    if (length == 0) return Wrong("a name is missing");
    std::string name(text_.substr(0, length));
    text_.remove_prefix(length);
    if (const size_t colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
    if (name.empty()) return Wrong("a name is no more than a prefix");
    return name;
  }

  // Reads the attributes of a tag up to its end. Returns true if the element is empty.
  absl::StatusOr<bool> RestOfTag() {
    while (true) {
      SkipSpace();
      if (Take("/>")) return true;
      if (Take(">")) return false;
      MUSTER_RETURN_IF_ERROR(Name().status());
      SkipSpace();
      if (!Take("=")) return Wrong("an attribute has no value");
      SkipSpace();
      const char quote = text_.empty() ? '\0' : text_.front();
      if (quote != '"' && quote != '\'') return Wrong("an attribute's value is not quoted");
      text_.remove_prefix(1);
      MUSTER_RETURN_IF_ERROR(SkipPast(std::string_view(&quote, 1)));
    }
  }

  absl::Status Reference(std::string& into) {
    constexpr std::pair<std::string_view, char> kNamed[] = {
        {"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}};
    for (const auto& [name, value] : kNamed) {
      if (!Take(name)) continue;
      into += value;
      return absl::OkStatus();
    }
    if (!Take("#")) return Wrong("an unknown reference");
    const int base = Take("x") ? 16 : 10;
    uint32_t point = 0;
    const auto [end, error] =
        std::from_chars(text_.data(), text_.data() + text_.size(), point, base);
    const bool valid = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    if (error != std::errc() || !valid) return Wrong("no character has that number");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    if (!Take(";")) return Wrong("a reference has no end");
    AppendUtf8(point, into);
    return absl::OkStatus();
  }

  absl::Status Element(int depth, XmlElement& out) {
    if (depth == kMostDepth) return Wrong("elements are too deep in each other");
    if (!Take("<")) return Wrong("an element is missing");
    MUSTER_ASSIGN_OR_RETURN(out.name, Name());
    MUSTER_ASSIGN_OR_RETURN(const bool empty, RestOfTag());
    if (empty) return absl::OkStatus();
    while (!Take("</")) MUSTER_RETURN_IF_ERROR(Content(depth, out));
    MUSTER_ASSIGN_OR_RETURN(const std::string name, Name());
    SkipSpace();
    if (name != out.name || !Take(">")) return Wrong("the end of another element");
    return absl::OkStatus();
  }

  // Reads one piece of what stands in an element.
  absl::Status Content(int depth, XmlElement& out) {
    if (text_.empty()) return Wrong("it ends too early");
    if (Take("<!--")) return SkipPast("-->");
    if (text_.front() == '<') {
      return Element(depth + 1, out.children.emplace_back());
    }
    if (Take("&")) return Reference(out.text);
    const size_t length = std::min(text_.find_first_of("<&"), text_.size());
    out.text.append(text_.substr(0, length));
    text_.remove_prefix(length);
    return absl::OkStatus();
  }

  std::string_view text_;
  const size_t size_;
};

}  // namespace

const XmlElement* XmlElement::Find(std::string_view child) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [child](const XmlElement& e) { return e.name == child; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::TextOf(std::string_view child) const {
  const XmlElement* found = Find(child);
  return found == nullptr ? "" : found->text;
}

absl::StatusOr<XmlElement> ReadXml(std::string_view document) {
  return Reader(document).Document();
}

}  // namespace muster
