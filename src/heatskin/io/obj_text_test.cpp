#include "heatskin/io/obj_text.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace heatskin::text {
namespace {

struct Line {
  std::size_t number;
  std::string text;
  bool operator==(const Line&) const = default;
};

std::vector<Line> linesOf(std::string_view text) {
  LineReader reader({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  std::vector<Line> lines;
  std::string_view line;
  while (reader.next(line))
    lines.push_back({reader.number(), std::string(line)});
  return lines;
}

TEST(LineReader, AllLineEnds) {
  const std::vector<Line> expected = {{1, "a"}, {2, "b"}, {3, ""}, {4, "c"}};
  EXPECT_EQ(linesOf("a\nb\n\nc\n"), expected);
  EXPECT_EQ(linesOf("a\nb\n\nc"), expected);
  EXPECT_EQ(linesOf("a\r\nb\r\n\r\nc\r\n"), expected);
  EXPECT_EQ(linesOf("a\rb\r\rc\r"), expected);
  EXPECT_EQ(linesOf("a\rb\n\r\nc"), expected);
  EXPECT_EQ(linesOf("\xEF\xBB\xBF"
                    "a\nb\n\nc"),
            expected);
  EXPECT_TRUE(linesOf("").empty());
}

TEST(LineReader, BackslashContinuesALineButNotAComment) {
  EXPECT_EQ(linesOf("f 1 \\\n2 \\\r\n3\nv"), (std::vector<Line>{{1, "f 1  2  3"}, {4, "v"}}));
  EXPECT_EQ(linesOf("f 1 \\"), (std::vector<Line>{{1, "f 1  "}}));
  EXPECT_EQ(linesOf("# C:\\\nv"), (std::vector<Line>{{1, "# C:\\"}, {2, "v"}}));
}

TEST(LineReader, CarriageReturnsOnlyTakeLinearTime) {
  // Quadratic behaviour would need 10^12 steps here.
  std::string text;
  for (int i = 0; i < 1000000; ++i)
    text += "x\r";
  EXPECT_EQ(linesOf(text).size(), 1000000u);
}

TEST(ParseDouble, NumbersAndNothingElse) {
  EXPECT_EQ(parseDouble("1.5"), 1.5);
  EXPECT_EQ(parseDouble("+1.5e-3"), 1.5e-3);
  EXPECT_EQ(parseDouble("-.5"), -0.5);
  EXPECT_EQ(parseDouble("5."), 5.0);
  for (const char* bad : {"", "+", "-", "+-1", "--1", "1,5", "1.5x", "0x10", "abc", "1e", "1 2"}) {
    EXPECT_FALSE(parseDouble(bad).has_value()) << bad;
  }
}

TEST(ParseDouble, OutOfRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parseDouble("1e999"), kInfinity);
  EXPECT_EQ(parseDouble("-1e999"), -kInfinity);
  EXPECT_EQ(parseDouble("1e-999"), 0.0);
  EXPECT_EQ(parseDouble("1e99999999999999999999999"), kInfinity);
  EXPECT_EQ(parseDouble("1e-99999999999999999999999"), 0.0);
  EXPECT_EQ(parseDouble("0." + std::string(2000, '0') + "1"), 0.0);
  EXPECT_EQ(parseDouble(std::string(2000, '9')), kInfinity);
  EXPECT_EQ(parseDouble("1" + std::string(2000, '0') + "e-2000"), 1.0);
  EXPECT_EQ(parseDouble("1." + std::string(100000, '0')), 1.0);
  EXPECT_TRUE(std::isnan(*parseDouble("nan")));
  EXPECT_EQ(parseDouble("inf"), kInfinity);
}

TEST(ParseInteger, Statuses) {
  std::int64_t value = 0;
  EXPECT_EQ(parseInteger("-12", value), IntegerStatus::kOk);
  EXPECT_EQ(value, -12);
  EXPECT_EQ(parseInteger("+7", value), IntegerStatus::kOk);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(parseInteger("99999999999999999999999", value), IntegerStatus::kOutOfRange);
  for (const char* bad : {"", "+", "+-1", "1.0", "a", "1a"}) {
    EXPECT_EQ(parseInteger(bad, value), IntegerStatus::kNotANumber) << bad;
  }
}

TEST(LineOfOffset, CountsEveryKindOfLineEnd) {
  const std::string text = "a\nb\r\nc\rd";
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  EXPECT_EQ(lineOfOffset(bytes, 0), 1u);
  EXPECT_EQ(lineOfOffset(bytes, text.find('b')), 2u);
  EXPECT_EQ(lineOfOffset(bytes, text.find('c')), 3u);
  EXPECT_EQ(lineOfOffset(bytes, text.find('d')), 4u);
}

}  // namespace
}  // namespace heatskin::text
