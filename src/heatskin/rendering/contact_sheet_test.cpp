#include "heatskin/rendering/contact_sheet.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

ImageF filled(int width, int height, float value) {
  ImageF image{width, height, {}, {}};
  image.rgb.assign(3 * image.pixelCount(), value);
  return image;
}

TEST(ContactSheet, PicturesAreInRowsWithGaps) {
  const std::vector<ImageF> pictures = {filled(10, 8, 0.1f), filled(10, 8, 0.2f), filled(6, 8, 0.3f),
                                        filled(10, 5, 0.4f), filled(10, 8, 0.5f)};
  SheetOptions options;
  options.columns = 3;
  options.gap = 2;
  const ImageF sheet = contactSheet(pictures, {}, options);
  ASSERT_EQ(sheet.width, 2 + 3 * 12);
  ASSERT_EQ(sheet.height, 2 + 2 * 10);
  for (int y = 0; y < sheet.height; ++y) {
    for (int x = 0; x < sheet.width; ++x) {
      float expected = 1;
      if (x >= 2 && y >= 2) {
        const int column = (x - 2) / 12, row = (y - 2) / 10;
        const auto k = static_cast<std::size_t>(3 * row + column);
        if (k < pictures.size() && (x - 2) % 12 < pictures[k].width && (y - 2) % 10 < pictures[k].height)
          expected = pictures[k].rgb[0];
      }
      ASSERT_EQ(sheet.pixel(x, y)[0], expected) << x << " " << y;
    }
  }
}

TEST(ContactSheet, RowsAreFullWherePossible) {
  SheetOptions options;
  options.gap = 0;
  for (const auto& [count, columns] : {std::pair{1, 1},
                                       {2, 2},
                                       {4, 2},
                                       {3, 3},
                                       {5, 5},
                                       {6, 3},
                                       {7, 3},
                                       {8, 4},
                                       {9, 3},
                                       {10, 5},
                                       {11, 4},
                                       {12, 4},
                                       {24, 6}}) {
    const std::vector<ImageF> pictures(static_cast<std::size_t>(count), filled(4, 4, 0));
    EXPECT_EQ(contactSheet(pictures, {}, options).width, 4 * columns) << count;
  }
}

TEST(ContactSheet, LabelsStayUnderTheirPictures) {
  const std::vector<ImageF> pictures(2, filled(40, 10, 0.5f));
  const std::vector<std::string> labels = {"a much too long label for this", "ok"};
  SheetOptions options;
  options.columns = 2;
  const ImageF sheet = contactSheet(pictures, labels, options);
  EXPECT_GT(sheet.height, 10 + 2 * options.gap);
  const auto inkIn = [&](int x0, int x1) {
    int ink = 0;
    for (int y = options.gap + 10; y < sheet.height; ++y) {
      for (int x = x0; x < x1; ++x)
        ink += sheet.pixel(x, y)[0] < 0.5f;
    }
    return ink;
  };
  EXPECT_GT(inkIn(4, 44), 0);
  EXPECT_EQ(inkIn(44, 48), 0);  // the gap: the first label was cut
  EXPECT_GT(inkIn(48, 88), 0);
  EXPECT_EQ(inkIn(48 + textWidth("ok"), 88), 0);
}

TEST(ContactSheet, NothingAndTooMuchGiveAnEmptyImage) {
  EXPECT_EQ(contactSheet({}).width, 0);
  const std::vector<ImageF> wide(3, filled(kMaxImageSide / 2, 1, 0));
  SheetOptions options;
  options.columns = 3;
  EXPECT_EQ(contactSheet(wide, {}, options).width, 0);
}

TEST(Text, EveryCharacterHasItsOwnGlyph) {
  std::set<std::vector<float>> seen;
  for (char c = '!'; c <= '~'; ++c) {
    ImageF image = filled(12, textHeight(), 1);
    drawText(image, 0, 0, std::string(1, c), {0, 0, 0});
    EXPECT_TRUE(seen.insert(image.rgb).second) << c;
  }
  ImageF space = filled(5, textHeight(), 1);
  drawText(space, 0, 0, " ", {0, 0, 0});
  EXPECT_EQ(space.rgb, filled(5, textHeight(), 1).rgb);
  EXPECT_NEAR(textWidth("abc", 2), textWidth("ab", 2) + textWidth("c", 2), 1);
  EXPECT_EQ(textWidth("111"), textWidth("000"));  // digits stand in columns
}

// Smooth: between ink and paper there are greys, and larger letters cover as much more as their area grows.
TEST(Text, IsAntialiasedAtEverySize) {
  std::vector<double> ink;
  for (int scale : {1, 2, 4}) {
    ImageF image = filled(60 * scale, 20 * scale, 1);
    drawText(image, 2, 2, "Qg8&", {0, 0, 0}, scale);
    double sum = 0;
    int greys = 0;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
      sum += 1 - static_cast<double>(image.rgb[i]);
      greys += image.rgb[i] > 0.1f && image.rgb[i] < 0.9f;
    }
    EXPECT_GT(greys, 20) << scale;
    ink.push_back(sum / (scale * scale));
  }
  EXPECT_NEAR(ink[1] / ink[0], 1, 0.1);
  EXPECT_NEAR(ink[2] / ink[0], 1, 0.1);
}

TEST(Text, IsCutAtTheBorder) {
  ImageF image = filled(8, 8, 1);
  drawText(image, -3, -3, "W\xc3\xa9WWWW", {0, 0, 0}, 3);
  drawText(image, 100, 100, "W", {0, 0, 0});
  EXPECT_LT(*std::min_element(image.rgb.begin(), image.rgb.end()), 0.5f);
}

}  // namespace
}  // namespace heatskin
