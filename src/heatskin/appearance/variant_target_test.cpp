#include "heatskin/appearance/variant_target.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/surface/sampling.h"

#include "support/variant_file.h"

namespace heatskin::testing {
namespace {

struct VariantSubject {
  Asset asset;
  Surface surface;
  Appearance appearance;
  std::vector<VariantLook> looks;

  explicit VariantSubject(const GltfBuilder& builder)
      : asset(*readGltfBytes(builder.glb(), "variants.glb")),
        surface(*buildSurface(asset)),
        appearance(asset, surface),
        looks(variantLooks(asset)) {}

  VariantTarget target(Filter filter = Filter::kAuto) const {
    return VariantTarget(asset, surface, appearance, looks, filter, ChannelLayout());
  }
};

TEST(VariantTarget, SeesWhatLooksAddToTheDefault) {
  const VariantSubject subject(variantFile());
  const VariantTarget target = subject.target();
  ASSERT_EQ(target.layout().groups().size(), 2u) << "'plain' is constant, 'usual' the default";
  EXPECT_EQ(target.layout().size(), 6u);

  // Every channel is what its look shows.
  const std::vector<SurfacePoint> points = sampleSurface(subject.surface, 500, 3);
  std::vector<float> values(6 * points.size()), seen(points.size());
  target.values(points, values);
  target.visibilities(points, seen);
  Asset striped = subject.asset;
  setLook(striped, subject.looks[0]);
  const Appearance other(striped, subject.surface);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3f a = subject.appearance.color(points[i]), b = other.color(points[i]);
    EXPECT_EQ(Vec3f(values.data() + 6 * i), a);
    EXPECT_EQ(Vec3f(values.data() + 6 * i + 3), b);
    EXPECT_EQ(seen[i], 1.0f);
  }
}

TEST(VariantTarget, ARecolouredCopyAddsNothing) {
  GltfBuilder b = variantFile();
  // Channels of the default, exchanged: a linear function of them.
  const std::size_t texture = addPicture(b, [](int x, int y) { return std::array{30 * y, 90, 30 * x}; });
  b.json["materials"][1]["pbrMetallicRoughness"]["baseColorTexture"]["index"] = texture;
  const VariantSubject subject(b);
  EXPECT_EQ(subject.looks.size(), 2u);
  // As stored: blending and sRGB are not linear.
  EXPECT_EQ(subject.target(Filter::kNearest).layout().size(), 3u);
}

TEST(VariantTarget, KernelsAreNeededWhereSomeLookNeedsThem) {
  GltfBuilder b = variantFile();
  b.primitive(0)["material"] = 2;  // by default the left square has one colour
  b.json["materials"][3] = b.json["materials"][2];
  const VariantSubject subject(b);
  const VariantTarget target = subject.target();
  EXPECT_FALSE(subject.appearance.hasColor());
  EXPECT_TRUE(target.hasColor());
  for (std::uint32_t f = 0; f < subject.surface.faceCount(); ++f) {
    const bool left = subject.surface.sources()[f].instance == 0;
    EXPECT_EQ(target.faceConstant(f), !left);
    EXPECT_EQ(target.constantGroups(f) & 1u, 1u) << "base_color of the default";
  }
}

TEST(VariantTarget, ManyLooksHaveALimit) {
  GltfBuilder b = variantFile();
  auto& names = b.json["extensions"]["KHR_materials_variants"]["variants"];
  auto& mappings = b.primitive(0)["extensions"]["KHR_materials_variants"]["mappings"];
  for (int v = 3; v < 20; ++v) {
    const std::size_t texture = addPicture(b, [v](int x, int y) {
      return std::array{(x * 37 * v + y * 11) % 256, (y * 53 * v + x * 29) % 256, ((x + y) * 71 * v) % 256};
    });
    const std::size_t material =
        b.add("materials", {{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", texture}}}}}});
    names.push_back({{"name", "v" + std::to_string(v)}});
    mappings.push_back({{"material", material}, {"variants", {v}}});
  }
  const VariantSubject subject(b);
  EXPECT_EQ(subject.looks.size(), 19u);
  EXPECT_EQ(subject.target().layout().size(), 3 + kMaxVariantChannels);
}

}  // namespace
}  // namespace heatskin::testing
