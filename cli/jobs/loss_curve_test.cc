#include "cli/jobs/loss_curve.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<LossPoint> Falling(int count) {
  std::vector<LossPoint> points;
  for (int i = 1; i <= count; ++i) points.push_back({i, 4.0 - 3.0 * i / count, std::nullopt});
  return points;
}

TEST(LossCurveSvg, DrawsTrainingValidationAndFloor) {
  std::vector<LossPoint> points = Falling(100);
  points[49].validation_loss = 2.6;
  points[99].validation_loss = 1.2;
  const std::string svg = LossCurveSvg(points, "a<b", 2.0, "unigram entropy");
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("validation loss"));
  EXPECT_THAT(svg, HasSubstr("unigram entropy 2.000"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
}

TEST(LossCurveSvg, TheSmoothedLineDoesNotLagBehindTheLoss) {
  // Both lines of a straight fall coincide, so its last point occurs twice.
  const std::string svg = LossCurveSvg(Falling(240), "t");
  const size_t first = svg.find("L836.0,");
  ASSERT_NE(first, std::string::npos);
  const std::string last_point = svg.substr(first, svg.find('\'', first) - first);
  EXPECT_NE(svg.find(last_point, first + 1), std::string::npos) << last_point;
}

// Returns the heights of the training loss's last points, of the raw and then of the smoothed line,
// in pixels from the top.
std::vector<double> LastHeights(const std::string& svg) {
  std::vector<double> heights;
  for (size_t path = svg.find("<path d='"); path != std::string::npos;
       path = svg.find("<path d='", path + 1)) {
    const size_t end = svg.find('\'', path + 9);
    heights.push_back(std::stod(svg.substr(svg.rfind(',', end) + 1)));
  }
  return heights;
}

TEST(LossCurveSvg, TheSmoothedLineDoesNotJumpToTheLastRawStep) {
  std::vector<LossPoint> points(600);
  for (int i = 0; i < 600; ++i) points[i] = {i + 1, i % 2 == 0 ? 1.9 : 2.1, std::nullopt};
  points.back().loss = 5.0;
  const std::vector<double> heights = LastHeights(LossCurveSvg(points, "t"));
  ASSERT_EQ(heights.size(), 2u);
  points.back().loss = 2.0;
  points.front().loss = 5.0;  // the same scale, and a calm end
  const std::vector<double> calm = LastHeights(LossCurveSvg(points, "t"));
  ASSERT_EQ(calm.size(), 2u);
  // The last of the 21 losses has less than a fifth of the weight in the line through them.
  EXPECT_LT(calm[1] - heights[1], 0.2 * (calm[1] - heights[0]));
  EXPECT_GT(calm[1], heights[0] + 200);
}

TEST(LossCurveSvg, ZeroIsWrittenWithoutASign) {
  // The margin below the smallest loss extends below zero.
  const std::string svg = LossCurveSvg({{1, 5.0, std::nullopt}, {2, 0.1, std::nullopt}}, "t");
  EXPECT_THAT(svg, HasSubstr(">0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">-0</text>")));
}

TEST(LossCurveSvg, BothAxesSayWhatTheyShow) {
  const std::string svg = LossCurveSvg(Falling(10), "t");
  EXPECT_THAT(svg, HasSubstr(">step</text>"));
  EXPECT_THAT(svg, HasSubstr(">loss (nats per token)</text>"));
}

TEST(LossCurveSvg, LeavesOutWhatIsNotFinite) {
  std::vector<LossPoint> points = Falling(3);
  points.push_back({4, std::nan(""), std::nullopt});
  points.push_back({5, INFINITY, std::nullopt});
  const std::string svg = LossCurveSvg(points, "t");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(LossCurveSvg, WithoutPointsSaysSo) {
  EXPECT_THAT(LossCurveSvg({}, "t"), HasSubstr("no steps yet"));
}

TEST(LossCurveSvg, OneStepAndAFlatCurveHaveAxes) {
  EXPECT_THAT(LossCurveSvg({{7, 2.0, std::nullopt}}, "t"), Not(HasSubstr("nan")));
  EXPECT_THAT(LossCurveSvg({{1, 2.0, std::nullopt}, {2, 2.0, std::nullopt}}, "t"),
              Not(HasSubstr("nan")));
}

TEST(LossCurveBraille, AFallingCurveGoesFromTopLeftToBottomRight) {
  const std::string text = LossCurveBraille(Falling(400), 20, 4);
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  ASSERT_EQ(lines.size(), 5u);
  const std::string blank = "\xE2\xA0\x80";
  EXPECT_NE(lines[0].substr(10, 3), blank);
  EXPECT_EQ(lines[3].substr(10, 3), blank);
  EXPECT_EQ(lines[0].substr(lines[0].size() - 3), blank);
  EXPECT_NE(lines[3].substr(lines[3].size() - 3), blank);
  EXPECT_THAT(lines[4], HasSubstr("step 1"));
  EXPECT_THAT(lines[4], HasSubstr("400"));
}

TEST(LossCurveBraille, NeedsTwoPoints) { EXPECT_EQ(LossCurveBraille(Falling(1), 20, 4), ""); }

}  // namespace
}  // namespace muster::cli
