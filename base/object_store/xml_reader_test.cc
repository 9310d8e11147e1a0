#include "base/object_store/xml_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(XmlReaderTest, AnAnswerOfAStoreIsRead) {
  const XmlElement list = ReadXml(R"(<?xml version="1.0" encoding="UTF-8"?>
    <!-- a list --><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
      <IsTruncated>false</IsTruncated><x:Empty xmlns:x='y'/>
      <Contents><Key>a&amp;b&lt;&#x41;&#233;</Key><Size>12</Size></Contents>
      <Contents><Key>b</Key></Contents></ListBucketResult>
      )")
                              .value();
  EXPECT_EQ(list.name, "ListBucketResult");
  EXPECT_EQ(list.TextOf("IsTruncated"), "false");
  ASSERT_NE(list.Find("Empty"), nullptr);
  EXPECT_EQ(list.Find("Nothing"), nullptr);
  ASSERT_EQ(list.children.size(), 4u);
  EXPECT_EQ(list.children[2].TextOf("Key"), "a&b<A\xc3\xa9");
  EXPECT_EQ(list.children[2].TextOf("Size"), "12");
  EXPECT_EQ(list.children[3].TextOf("Size"), "");
}

TEST(XmlReaderTest, WhatIsNotSuchADocumentIsRefused) {
  std::string deep;
  for (int i = 0; i < 17; ++i) deep += "<a>";
  for (int i = 0; i < 17; ++i) deep += "</a>";
  for (const std::string& wrong :
       {std::string(), std::string("x"), std::string("<a>"), std::string("<a></b>"),
        std::string("<a/><b/>"), std::string("<a>&unknown;</a>"), std::string("<a>&#0;</a>"),
        std::string("<a>&#xd800;</a>"), std::string("<a>&#x110000;</a>"),
        std::string("<a>&#65</a>"), std::string("<a b></a>"), std::string("<a b=c></a>"),
        std::string("<a b='c></a>"), std::string("<!DOCTYPE a><a/>"),
        std::string("<a><![CDATA[x]]></a>"), std::string("<a><!-- </a>"),
        std::string("<html><br></html>"), deep}) {
    EXPECT_EQ(ReadXml(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(XmlReaderTest, ANameThatIsOnlyAPrefixIsRefused) {
  for (const std::string wrong : {"<x:/>", "<\275:/>", "<a x:='b'/>", "<:></:>"}) {
    EXPECT_EQ(ReadXml(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace muster
