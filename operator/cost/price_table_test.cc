#include "operator/cost/price_table.h"

#include <string>

#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto table = ParsePriceTable(text);
  return table.ok() ? "" : std::string(table.status().message());
}

TEST(ParsePriceTableTest, ReadsPricesAndPower) {
  const auto table = ParsePriceTable(R"(
currency: EUR
prices:
- {instanceType: big, perHour: 100, spotDiscount: 0.6, watts: 10200}
- {instanceType: small, perHour: 0.5, spotPerHour: 0.2}
- {instanceType: own, watts: 400}
)");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->currency, "EUR");
  ASSERT_EQ(table->rows.size(), 3u);
  const PriceRow& big = table->rows.at("big");
  EXPECT_EQ(big.per_hour, 100);
  EXPECT_DOUBLE_EQ(big.spot_per_hour.value_or(0), 40);
  EXPECT_EQ(big.watts, 10200);
  EXPECT_EQ(table->rows.at("small").spot_per_hour, 0.2);
  EXPECT_EQ(table->rows.at("small").watts, std::nullopt);
  EXPECT_EQ(table->rows.at("own").per_hour, std::nullopt);
  EXPECT_EQ(table->rows.at("own").watts, 400);
}

TEST(ParsePriceTableTest, TheExampleOfTheDocumentIsValid) {
  const auto page = ReadFile(FileSystem(), "docs/monitoring.md");
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string mark = "<!-- prices of nodes -->\n```yaml\n";
  const size_t from = page->find(mark);
  ASSERT_NE(from, std::string::npos);
  const size_t begin = from + mark.size();
  const auto table = ParsePriceTable(page->substr(begin, page->find("```", begin) - begin));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_GE(table->rows.size(), 2u);
}

TEST(ParsePriceTableTest, AnEmptyFileHasNone) {
  const auto table = ParsePriceTable("# none yet\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->rows.empty());
  EXPECT_EQ(ErrorOf("prices: []"), "");
  EXPECT_EQ(ErrorOf("prices: [{instanceType: a, watts: 3}]"), "") << "power needs no currency";
}

TEST(ParsePriceTableTest, EveryFaultIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf("- a"), "want an object with currency and prices");
  EXPECT_EQ(ErrorOf("prices: [a"), "the table of prices is not YAML");
  EXPECT_EQ(ErrorOf("currency: USD\nprices: 3"),
            "line 2: prices: want a list of rows, each with instanceType");
  EXPECT_EQ(ErrorOf("currency: dollar"),
            "line 1: currency: want three letters of ISO 4217, as USD");
  EXPECT_EQ(ErrorOf("prices:\n- {instanceType: a, perHour: 1}"),
            "line 1: currency: want three letters of ISO 4217, as USD");
  EXPECT_EQ(ErrorOf("currency: USD\n"
                    "prices:\n"
                    "- {instanceType: a, perHour: free}\n"
                    "- {instanceType: a, perHour: -1}\n"
                    "- {perHour: .nan, color: red}\n"
                    "- {instanceType: b}\n"
                    "- c\n"),
            "line 3: prices[0].perHour: want a number\n"
            "line 4: prices[1].instanceType: is in a row before it\n"
            "line 4: prices[1].perHour: want a number above 0, at most 1e9\n"
            "line 5: prices[2].color: unknown field; the fields here are instanceType, perHour, "
            "spotDiscount, spotPerHour, watts\n"
            "line 5: prices[2].instanceType: want a value of the label "
            "node.kubernetes.io/instance-type\n"
            "line 5: prices[2].perHour: want a number\n"
            "line 6: prices[3]: want perHour, spotPerHour or watts\n"
            "line 7: prices[4]: want an object with instanceType");
}

TEST(ParsePriceTableTest, ADiscountIsAPartOfThePrice) {
  const auto row = [](const std::string& fields) {
    return ErrorOf("currency: USD\nprices:\n- {instanceType: a, " + fields + "}\n");
  };
  const std::string field = "line 3: prices[0].spotDiscount: ";
  EXPECT_EQ(row("perHour: 1, spotDiscount: 60"), field + "want a part of perHour, 0 to 1, as 0.6");
  EXPECT_EQ(row("perHour: 1, spotDiscount: -0.1"),
            field + "want a part of perHour, 0 to 1, as 0.6");
  EXPECT_EQ(row("perHour: 1, spotPerHour: 0.5, spotDiscount: 0.5"),
            field + "want either spotPerHour or spotDiscount");
  EXPECT_THAT(row("watts: 1, spotDiscount: 0.5"),
              HasSubstr(field + "want perHour, of which it is a part"));
}

TEST(LoadPriceTableTest, AFileThatIsNotThereIsNamed) {
  const auto table = LoadPriceTable("/no/such/prices.yaml");
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("/no/such/prices.yaml"));
}

}  // namespace
}  // namespace muster::control
