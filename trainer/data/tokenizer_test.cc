#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/json.h"
#include "trainer/data/bpe_model.h"
#include "trainer/data/bpe_tokenizer.h"
#include "trainer/data/bpe_trainer.h"
#include "trainer/data/pretokenizer.h"
#include "trainer/data/tokenizer_json.h"

namespace muster::trainer {
namespace {

using Ids = std::vector<uint32_t>;

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(NextWord(text));
  return words;
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.Encode(text, ids);
  return ids;
}

BpeTokenizer Make(const BpeModel& model) { return BpeTokenizer(model, FormatTokenizerJson(model)); }

// Texts that have broken tokenizers: combining marks, other scripts, emoji with joiners, every kind
// of space, numerals that are not digits, and bytes that are not text.
const char* const kNasty[] = {
    "",
    " ",
    "  leading and trailing  ",
    "I've don't we'll they'd it's I'm you're 'tis 'S",
    "tabs\tand\n\n\nlines\r\n  mixed \t end",
    "\xC2\xA0no-break\xE2\x80\x83\x65m space\xE3\x80\x80ideographic",
    "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\xE3\x83\x86\xE3\x82\xB9\xE3\x83\x88",
    "caf\x65\xCC\x81 na\xC3\xAFve \xC3\x85ngstr\xC3\xB6m",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 family",
    "x\xC2\xB2 + \xE2\x85\xA7 = \xC2\xBD \xD9\xA3\xD9\xA4",
    "\xFF\xFE\x80 stray bytes \xC3",
    "1234567890 3.14159 1e-10",
};

TEST(PretokenizerTest, SplitsAsGpt2sPattern) {
  using W = std::vector<std::string>;
  EXPECT_EQ(Words("Hello world"), (W{"Hello", " world"}));
  EXPECT_EQ(Words("I've 'tis it'S"), (W{"I", "'ve", " '", "tis", " it", "'", "S"}));
  EXPECT_EQ(Words("a  b"), (W{"a", " ", " b"}));
  EXPECT_EQ(Words("a   b"), (W{"a", "  ", " b"}));
  EXPECT_EQ(Words("a \n b "), (W{"a", " \n", " b", " "}));
  EXPECT_EQ(Words("a\n\nb"), (W{"a", "\n", "\n", "b"}));
  EXPECT_EQ(Words("a\nb"), (W{"a", "\n", "b"}));
  EXPECT_EQ(Words("abc123!? x"), (W{"abc", "123", "!?", " x"}));
  EXPECT_EQ(Words("x\xC2\xB2"), (W{"x", "\xC2\xB2"})) << "superscript two is a number";
  EXPECT_EQ(Words("\xC2\xA0"
                  "a"),
            (W{"\xC2\xA0", "a"}))
      << "only U+0020 joins the next word";
}

TEST(PretokenizerTest, LosesNothing) {
  for (const char* text : kNasty) {
    std::string joined;
    for (const std::string& word : Words(text)) joined += word;
    EXPECT_EQ(joined, text);
  }
}

TEST(PretokenizerTest, StandInsAreGpt2s) {
  EXPECT_EQ(ToStandIns(" a\n"),
            "\xC4\xA0"
            "a\xC4\x8A");
  std::string all, back;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  ASSERT_TRUE(FromStandIns(ToStandIns(all), back));
  EXPECT_EQ(back, all);
  EXPECT_FALSE(FromStandIns(" ", back));
}

TEST(ByteTokenizerTest, BytesAreTheirOwnIds) {
  const BpeTokenizer tokenizer = Make(ByteModel());
  EXPECT_EQ(tokenizer.vocabulary(), 257u);
  EXPECT_EQ(tokenizer.end_of_text(), 256u);
  EXPECT_EQ(Encode(tokenizer, "A\xFF<|endoftext|>b"), (Ids{65, 255, 256, 98}));
  EXPECT_EQ(tokenizer.Decode(Ids{65, 256, 98, 999}), "A<|endoftext|>b");
}

// Returns a tokenizer.json in which every byte is its own id, end-of-text is 300, and the rest is
// given.
std::string HandMade(const Json& merges, const Json& extra_tokens) {
  Json vocabulary = Json::object();
  for (int b = 0; b < 256; ++b) {
    vocabulary[ToStandIns(std::string(1, static_cast<char>(b)))] = b;
  }
  vocabulary.update(extra_tokens);
  return DumpJson(
      {{"version", "1.0"},
       {"normalizer", nullptr},
       {"added_tokens", {{{"id", 300}, {"content", "<|endoftext|>"}, {"special", true}}}},
       {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
       {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}});
}

const Json kTokens = {{"ab", 256},
                      {"bc", 257},
                      {"abc", 258},
                      {"\xC4\xA0"
                       "a",
                       259}};

TEST(TokenizerJsonTest, MergesGoByRankThenLeftToRight) {
  for (const char* merges : {R"(["b c", "a b", "ab c", "\u0120 a"])",
                             R"([["b", "c"], ["a", "b"], ["ab", "c"], ["\u0120", "a"]])"}) {
    const auto model = ParseTokenizerJson(HandMade(Json::parse(merges), kTokens));
    ASSERT_TRUE(model.ok()) << model.status();
    const BpeTokenizer tokenizer = Make(*model);
    EXPECT_EQ(Encode(tokenizer, "abc"), (Ids{'a', 257})) << "b c ranks before a b";
    EXPECT_EQ(Encode(tokenizer, "abab"), (Ids{256, 256}));
    EXPECT_EQ(Encode(tokenizer, "d a"), (Ids{'d', 259}));
    EXPECT_EQ(Encode(tokenizer, "ab<|endoftext|>ab"), (Ids{256, 300, 256}));
    EXPECT_EQ(tokenizer.vocabulary(), 301u);
    EXPECT_EQ(tokenizer.end_of_text(), 300u);
  }
}

TEST(TokenizerJsonTest, IgnoreMergesTakesWholeWords) {
  Json root = Json::parse(HandMade({"b c"}, kTokens));
  root["model"]["ignore_merges"] = true;
  const BpeTokenizer tokenizer = Make(ParseTokenizerJson(root.dump()).value());
  EXPECT_EQ(Encode(tokenizer, "abc"), (Ids{258}));
  EXPECT_EQ(Encode(tokenizer, "dbc"), (Ids{'d', 257}));
}

TEST(TokenizerJsonTest, NamesTheFault) {
  auto message = [](const std::string& text) {
    return std::string(ParseTokenizerJson(text).status().message());
  };
  auto with = [](const char* pointer, const Json& value) {
    Json root = Json::parse(HandMade(Json::array(), kTokens));
    root[Json::json_pointer(pointer)] = value;
    return root.dump();
  };
  EXPECT_EQ(message("[]"), "tokenizer.json: must be an object");
  EXPECT_EQ(message(with("/model/type", "Unigram")),
            "tokenizer.json: model type Unigram is not supported; BPE is");
  EXPECT_EQ(message(with("/normalizer", {{"type", "NFC"}})),
            "tokenizer.json: normalizer NFC is not supported");
  EXPECT_EQ(message(with("/pre_tokenizer", {{"type", "Whitespace"}})),
            "tokenizer.json: pre_tokenizer Whitespace is not supported; ByteLevel with GPT-2's "
            "pattern is");
  EXPECT_EQ(message(with("/model/vocab/ab", 5)),
            "tokenizer.json: model.vocab: id 5 is given to two tokens");
  EXPECT_EQ(message(with("/model/vocab/ab", -1)),
            "tokenizer.json: model.vocab: ab: an id must be an integer from 0 to 4194303");
  EXPECT_EQ(message(with("/model/merges", {"a z"})),
            "tokenizer.json: model.merges[0]: a z names a token that is not in model.vocab");
  EXPECT_EQ(message(with("/model/merges", {"abc"})),
            "tokenizer.json: model.merges[0]: must be \"a b\" or [\"a\", \"b\"]");
  EXPECT_EQ(message(with("/added_tokens/0/lstrip", true)),
            "tokenizer.json: added_tokens[0]: lstrip is not supported");
  EXPECT_EQ(message(with("/added_tokens/0/id", 256)),
            "tokenizer.json: added_tokens[0]: id 256 belongs to another token in model.vocab");
}

// Regression: the space was put before the text alone, and Hugging Face puts it before every piece.
TEST(TokenizerJsonTest, ASpaceBeforeEachPieceOfASplitIsRefused) {
  Json root = Json::parse(HandMade(Json::array(), kTokens));
  const Json split = {
      {"type", "Split"},
      {"pattern",
       {{"Regex",
         R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"}}},
      {"behavior", "Isolated"}};
  Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  root["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
  EXPECT_TRUE(ParseTokenizerJson(root.dump()).ok());
  for (const Json& prefix : {Json(true), Json()}) {
    bytes["add_prefix_space"] = prefix;
    root["pre_tokenizer"]["pretokenizers"] = {split, bytes};
    EXPECT_EQ(ParseTokenizerJson(root.dump()).status().message(),
              "tokenizer.json: pre_tokenizer: ByteLevel with add_prefix_space after Split puts a "
              "space before each piece, which is not supported; add_prefix_space false is, or "
              "ByteLevel alone with use_regex");
  }
}

TEST(TokenizerJsonTest, AVocabularyWithoutEveryByteIsRefused) {
  Json root = Json::parse(HandMade(Json::array(), kTokens));
  root["model"]["vocab"].erase("!");
  EXPECT_EQ(ParseTokenizerJson(root.dump()).status().message(),
            "tokenizer.json: model.vocab: byte 0x21 has no token");
}

TEST(TokenizerJsonTest, TokensThatStandForNoBytesMustBeAdded) {
  Json root = Json::parse(HandMade(Json::array(), kTokens));
  root["model"]["vocab"]["a b"] = 299;
  EXPECT_EQ(ParseTokenizerJson(root.dump()).status().message(),
            "tokenizer.json: model.vocab: a b is not spelled in byte-level characters");
  root["added_tokens"].push_back({{"id", 299}, {"content", "a b"}});
  const BpeTokenizer tokenizer = Make(ParseTokenizerJson(root.dump()).value());
  EXPECT_EQ(Encode(tokenizer, "xa b"), (Ids{'x', 299}));
}

TEST(BpeTrainerTest, LearnsTheMostFrequentPairsFirst) {
  const BpeModel model = TrainBpe({"low low low lower lowest newest newest"}, 262).value();
  ASSERT_EQ(model.tokens.size(), 262u);
  // "lo" and "ow" both occur five times: the smaller ids win, which are l and o.
  EXPECT_EQ(model.tokens[257], "lo");
  EXPECT_EQ(model.tokens[258], "low");
  EXPECT_EQ(model.tokens[259], " low");
  EXPECT_EQ(model.added[0].content, kEndOfText);
}

TEST(BpeTrainerTest, StopsWhenNothingRepeats) {
  EXPECT_EQ(TrainBpe({"abcdef"}, 1000)->tokens.size(), 257u);
  EXPECT_EQ(TrainBpe({"abc"}, 256).status().message(),
            "a byte-level vocabulary of 256 is too small: it has at least 257 ids");
}

TEST(BpeTrainerTest, RunsOfOneLetterAreCountedOnce) {
  const BpeModel model = TrainBpe({"aaaaaaaa aaaaaaaa"}, 300).value();
  EXPECT_EQ(model.tokens[257], "aa");
  EXPECT_EQ(model.tokens[258], "aaaa");
  EXPECT_EQ(model.tokens.back(), "aaaaaaaa");
}

std::string SomeText(uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    text += std::string(1 + random() % 3, static_cast<char>('a' + random() % 4));
    if (random() % 3 == 0) text += ' ';
    if (random() % 50 == 0) text += kNasty[random() % std::size(kNasty)];
  }
  return text;
}

TEST(BpeTest, TrainedWrittenAndReadBackEncodesTheSame) {
  const std::string text = SomeText(1);
  const BpeModel trained = TrainBpe({text}, 500).value();
  const BpeTokenizer first = Make(trained);
  const auto read = ParseTokenizerJson(first.json());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(FormatTokenizerJson(*read), first.json());
  const BpeTokenizer second = Make(*read);
  EXPECT_EQ(Encode(first, text), Encode(second, text));
  EXPECT_LT(Encode(first, text).size(), text.size() * 2 / 3);
}

TEST(BpeTest, RoundTripsEveryText) {
  const BpeTokenizer tokenizer = Make(TrainBpe({SomeText(2)}, 400).value());
  for (const char* text : kNasty) {
    EXPECT_EQ(tokenizer.Decode(Encode(tokenizer, text)), text);
  }
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::string bytes;
    for (int i = 0; i < 500; ++i) bytes += static_cast<char>(random());
    EXPECT_EQ(tokenizer.Decode(Encode(tokenizer, bytes)), bytes) << seed;
  }
}

// Checks the heap against the definition: merge the lowest rank, leftmost, until none is left.
Ids EncodeByDefinition(const BpeModel& model, std::string_view word) {
  Ids ids;
  for (const char c : word) {
    for (uint32_t id = 0; id < model.tokens.size(); ++id) {
      if (model.tokens[id] == std::string_view(&c, 1)) ids.push_back(id);
    }
  }
  for (bool merged = true; merged;) {
    merged = false;
    for (const Merge& merge : model.merges) {
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] != merge.left || ids[i + 1] != merge.right) continue;
        ids[i] = merge.merged;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
        break;
      }
      if (merged) break;
    }
  }
  return ids;
}

TEST(BpeTest, EncodesByDefinition) {
  const BpeModel model = TrainBpe({SomeText(3)}, 350).value();
  const BpeTokenizer tokenizer = Make(model);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (uint32_t n = 1 + random() % 30; n > 0; --n) word += static_cast<char>('a' + random() % 4);
    EXPECT_EQ(Encode(tokenizer, word), EncodeByDefinition(model, word)) << word;
  }
}

TEST(BpeTest, TheTimeForOneVeryLongWordIsNotQuadratic) {
  const BpeTokenizer tokenizer = Make(TrainBpe({SomeText(4)}, 400).value());
  const std::string word(1 << 20, 'a');
  EXPECT_EQ(tokenizer.Decode(Encode(tokenizer, word)), word);
}

TEST(TokenizerJsonTest, ATokenThatTheVocabularyHasTwiceIsRefused) {
  const absl::Status read =
      ParseTokenizerJson(R"({"model": {"vocab": {"a": 0, "a": 1}}})").status();
  EXPECT_TRUE(absl::StrContains(read.message(), "the JSON has the key \"a\" twice")) << read;
}

}  // namespace
}  // namespace muster::trainer
