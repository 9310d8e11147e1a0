#include "trainer/data/corpus.h"

#include <gtest/gtest.h>

#include "base/files/files.h"
#include "base/testing/memory_files.h"

namespace muster::trainer {
namespace {

class CorpusTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& contents) {
    ASSERT_TRUE(files_.MakeDirectories(ParentPath(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, path, contents).ok());
  }
  absl::Status Open(const std::string& path, TextFormat format = TextFormat::kText) {
    return OpenCorpus(files_, path, format).status();
  }
  MemoryFiles files_;
};

TEST_F(CorpusTest, ADirectoryIsItsFilesInOrderOfPaths) {
  Write("/c/b.txt", "second");
  Write("/c/a/x.txt", "first");
  Write("/c/.git/config", "hidden");
  Write("/c/empty.txt", "");
  Write("/c/lost+found/#12", "of the file system's check");
  const Corpus corpus = OpenCorpus(files_, "/c", TextFormat::kText).value();
  ASSERT_EQ(corpus.documents.size(), 2u);
  EXPECT_EQ(corpus.documents[0].name, "/c/a/x.txt");
  EXPECT_EQ(corpus.documents[1].bytes(), "second");
  EXPECT_EQ(corpus.bytes(), 11u);
}

TEST_F(CorpusTest, TheHashDependsOnTheBoundariesOfDocuments) {
  Write("/a/1", "ab");
  Write("/a/2", "c");
  Write("/b/1", "a");
  Write("/b/2", "bc");
  EXPECT_NE(OpenCorpus(files_, "/a", TextFormat::kText)->ContentHash(),
            OpenCorpus(files_, "/b", TextFormat::kText)->ContentHash());
}

TEST_F(CorpusTest, BinaryAsTextNamesTheFirstBadByte) {
  Write("/bad", std::string("plain caf\xC3\xA9 then \xFF\xFE"));
  EXPECT_EQ(Open("/bad").message(),
            "/bad: not UTF-8 text: byte 17 is 0xFF; use data.format Bytes for binary files");
  EXPECT_TRUE(Open("/bad", TextFormat::kBytes).ok());
  Write("/zero", std::string("ab\0c", 4));
  EXPECT_EQ(Open("/zero").message(),
            "/zero: not UTF-8 text: byte 2 is 0x00; use data.format Bytes for binary files");
}

TEST_F(CorpusTest, IllFormedSequencesAreNotText) {
  for (const char* bad : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80",
                          "\xF5\x80\x80\x80", "\xE0\x80\xAF"}) {
    Write("/f", std::string("12345678") + bad);
    EXPECT_NE(Open("/f").message().find("byte 8 is"), std::string::npos) << bad;
  }
}

TEST_F(CorpusTest, MissingAndEmptyPathsAreRefused) {
  EXPECT_EQ(Open("/nowhere").code(), absl::StatusCode::kNotFound);
  Write("/empty", "");
  EXPECT_EQ(Open("/empty").message(), "/empty: is empty");
  ASSERT_TRUE(files_.MakeDirectories("/dir").ok());
  EXPECT_EQ(Open("/dir").message(), "/dir: holds no files");
}

TEST_F(CorpusTest, JsonWithTheTextInsideIsRefused) {
  std::string lines;
  for (int i = 0; i < 50; ++i)
    lines += "{\"text\": \"Document. The quick brown fox.\", \"id\": 7}\n";
  const std::string want =
      ": is JSON, one object a line, which would be trained on with its braces and keys; write the "
      "text alone into files, one for each document, or set data.format to Bytes to train on it as "
      "it is";
  Write("/docs.jsonl", lines);
  Write("/docs.txt", "\n" + lines);
  EXPECT_EQ(Open("/docs.jsonl").message(), "/docs.jsonl" + want);
  EXPECT_EQ(Open("/docs.txt").message(), "/docs.txt" + want) << "the name does not matter";
  EXPECT_TRUE(OpenCorpus(files_, "/docs.jsonl", TextFormat::kBytes).ok());
  Write("/code/package.json", lines);
  Write("/code/main.js", std::string(lines.size() + 1, 'x'));
  EXPECT_TRUE(Open("/code").ok()) << "code has some";
  Write("/prose", "{He} said so.\n{\"a\": 1}\n");
  EXPECT_TRUE(Open("/prose").ok());
}

TEST_F(CorpusTest, TokenFilesAreWholeTokens) {
  Write("/t", std::string("\x01\x00\xFF\xFF\x02\x00", 6));
  const Tokens tokens = OpenTokenFile(files_, "/t", TokenType::kU16).value();
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens.at(1), 0xFFFFu);
  EXPECT_EQ(tokens.Slice(2, 3).at(0), 2u);
  EXPECT_EQ(OpenTokenFile(files_, "/t", TokenType::kU32).status().message(),
            "/t: 6 bytes are not a whole number of 4-byte tokens");
  Write("/t.npy", "\x93NUMPY and the rest");
  EXPECT_EQ(
      OpenTokenFile(files_, "/t.npy", TokenType::kU16).status().message(),
      "/t.npy: is a NumPy array: array.tofile(\"tokens.bin\") writes its numbers alone; format "
      "Tokens takes token numbers alone");
}

}  // namespace
}  // namespace muster::trainer
