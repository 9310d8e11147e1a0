#ifndef MUSTER_BASE_OBJECT_STORE_XML_READER_H_
#define MUSTER_BASE_OBJECT_STORE_XML_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

// An element of an XML document: its name without a namespace's prefix, the text directly in it,
// and the elements in it. Attributes are left out.
struct XmlElement {
  std::string name;
  std::string text;
  std::vector<XmlElement> children;

  // Returns the first child of this name; null without one.
  const XmlElement* Find(std::string_view child) const;
  // Returns the text of the first child of this name; empty without one.
  std::string TextOf(std::string_view child) const;
};

// Reads the documents with which an object store answers, which are not trusted: elements, text,
// attributes, comments, and the five named and the numeric references. InvalidArgument for all
// else, such as document types, and for elements more than 16 deep.
absl::StatusOr<XmlElement> ReadXml(std::string_view document);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_XML_READER_H_
