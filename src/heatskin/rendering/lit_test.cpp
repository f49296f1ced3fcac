#include "heatskin/rendering/lit.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/rendering/photograph.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

constexpr double kBumps = 18, kHeight = 0.012;

double bumpHeight(double x, double y) {
  return kHeight * std::sin(kBumps * x + 0.3) * std::cos(kBumps * 0.7 * y);
}

Vec3 bumpNormal(double x, double y) {
  const double dx = kHeight * kBumps * std::cos(kBumps * x + 0.3) * std::cos(kBumps * 0.7 * y);
  const double dy = -kHeight * kBumps * 0.7 * std::sin(kBumps * x + 0.3) * std::sin(kBumps * 0.7 * y);
  return Vec3(-dx, -dy, 1).normalized();
}

enum class Bumps { kGeometry, kMap, kMirroredMap, kWrongGreen, kNone };

/// A plate [-1, 1]^2 facing +z whose bumps are its shape or a normal map. Mirrored: the left half shows the
/// same texels as the right one, so only bumps that are the same on both sides of x = 0 can be drawn.
struct Plate {
  Asset asset;
  std::unique_ptr<Surface> surface;
  std::unique_ptr<Appearance> appearance;
  std::unique_ptr<ShadingNormals> normals;

  explicit Plate(Bumps bumps, bool symmetric = false) {
    const auto folded = [&](double x) { return symmetric ? std::abs(x) : x; };
    asset.format = "glb";
    constexpr int kTexels = 512;
    Image image;
    image.width = image.height = kTexels;
    for (int j = 0; j < kTexels; ++j) {
      for (int i = 0; i < kTexels; ++i) {
        const double u = (i + 0.5) / kTexels, v = (j + 0.5) / kTexels;
        // Mirrored: u is |x|, the map that of the right half; otherwise u = (x + 1) / 2.
        const double x = bumps == Bumps::kMirroredMap ? u : 2 * u - 1, y = 1 - 2 * v;
        Vec3 n = bumpNormal(folded(x), y);
        if (bumps != Bumps::kMirroredMap && symmetric && x < 0) n.x() = -n.x();
        if (bumps == Bumps::kWrongGreen) n.y() = -n.y();
        for (int c = 0; c < 3; ++c)
          image.rgba.push_back(static_cast<std::uint8_t>(std::lround(127.5 * (n[c] + 1))));
        image.rgba.push_back(255);
      }
    }
    asset.images.push_back(std::make_shared<const Image>(std::move(image)));
    asset.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge});
    Material material;
    material.slots = standardSlots();
    material.base_color_factor = {0.6f, 0.4f, 0.3f, 1};
    material.slots[slotOf("metallic")].factor.setConstant(0.3f);
    material.slots[slotOf("roughness")].factor.setConstant(0.4f);
    const bool geometry = bumps == Bumps::kGeometry;
    if (!geometry && bumps != Bumps::kNone) material.slots[slotOf("normal")].texture.texture = 0;
    asset.materials.push_back(material);

    const int n = geometry ? 160 : 4;
    Primitive primitive;
    primitive.uv_sets.resize(1);
    primitive.material = 0;
    for (int j = 0; j <= n; ++j) {
      for (int i = 0; i <= n; ++i) {
        const double x = 2.0 * i / n - 1, y = 2.0 * j / n - 1;
        primitive.positions.push_back({x, y, geometry ? bumpHeight(folded(x), y) : 0.0});
        Vec3 normal = geometry ? bumpNormal(folded(x), y) : Vec3(0, 0, 1);
        if (geometry && symmetric && x < 0) normal.x() = -normal.x();
        primitive.normals.push_back(normal.cast<float>());
        const double u = bumps == Bumps::kMirroredMap ? std::abs(x) : (x + 1) / 2;
        primitive.uv_sets[0].push_back(Vec2(u, (1 - y) / 2).cast<float>());
      }
    }
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const auto a = static_cast<std::uint32_t>(j * (n + 1) + i), b = a + 1;
        const auto c = a + static_cast<std::uint32_t>(n) + 1, d = c + 1;
        for (const std::uint32_t corner : {a, b, d, a, d, c})
          primitive.triangles.push_back(corner);
      }
    }
    asset.meshes.push_back({"plate", {primitive}});
    asset.instances.push_back({"plate", 0, Affine3::Identity()});
    SurfaceOptions options;
    options.normalise = false;
    surface = std::make_unique<Surface>(std::move(*buildSurface(asset, options)));
    appearance = std::make_unique<Appearance>(asset, *surface);
    normals = std::make_unique<ShadingNormals>(asset, *surface, appearance->slots());
  }

  MaterialSource materials() const { return appearanceMaterials(*appearance, *normals); }
};

Camera plateCamera() {
  Camera camera;
  camera.eye = Vec3(0.4, 0.7, 3.2);
  camera.target = Vec3::Zero();
  return camera;
}

Picture litPicture(Bumps bumps, bool symmetric = false) {
  const Plate plate(bumps, symmetric);
  LitOptions options;
  options.supersampling = 2;
  options.shadows = false;  // hollows of the shape have some, those of a map have none
  return renderLit(*plate.surface, plateCamera(), 160, 160, plate.materials(), options);
}

/// Root mean square difference in 8-bit levels over pixels that show nothing else in both: heights move the
/// rim.
double levels(const Picture& first, const Picture& second) {
  const ImageF &a = first.image, &b = second.image;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.mask.size(); ++i) {
    if (first.coverage[i] < 0.999f || second.coverage[i] < 0.999f) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      const double d = 255 * (static_cast<double>(a.rgb[3 * i + c]) - static_cast<double>(b.rgb[3 * i + c]));
      sum += d * d;
      ++count;
    }
  }
  EXPECT_GT(count, 10000u);
  return std::sqrt(sum / static_cast<double>(count));
}

TEST(RenderLit, ANormalMapLooksLikeTheBumpsItWasMadeOf) {
  const Picture truth = litPicture(Bumps::kGeometry);
  const double same = levels(truth, litPicture(Bumps::kMap));
  const double upside_down = levels(truth, litPicture(Bumps::kWrongGreen));
  const double flat = levels(truth, litPicture(Bumps::kNone));
  EXPECT_LT(same, 1.5);  // 8 bits of texels, heights that move what is seen by a fraction of a pixel
  EXPECT_GT(upside_down, 4 * same);
  EXPECT_GT(flat, 4 * same);
}

TEST(RenderLit, MirroredCoordinatesGiveTheSamePicture) {
  const Picture truth = litPicture(Bumps::kGeometry, true), map = litPicture(Bumps::kMap, true);
  const Picture mirrored = litPicture(Bumps::kMirroredMap, true);
  EXPECT_LT(levels(truth, mirrored), 1.5);
  EXPECT_LT(levels(map, mirrored), 1.5);
}

TEST(RenderLit, APathTracedPictureHasTheSameMaterials) {
  const Plate plate(Bumps::kMap), flat(Bumps::kNone);
  const auto traced = [](const Plate& p) {
    PhotographOptions options;
    options.samples = 64;
    options.floor_shadow = false;
    const MaterialSource materials = p.materials();
    options.materials = materials;
    options.normals = p.normals->corners();
    return renderPhotograph(*p.surface, plateCamera(), 96, 96, appearanceColors(*p.appearance, Filter::kAuto),
                            options)
        .image;
  };
  const auto lit = [](const Plate& p) {
    return renderLit(*p.surface, plateCamera(), 96, 96, p.materials()).image;
  };
  // Two renderers and two approximations of one material under the same lamps: what bumps change is seen in
  // both. The correlation of the changes tells.
  const ImageF traced_map = traced(plate), traced_flat = traced(flat), lit_map = lit(plate),
               lit_flat = lit(flat);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < traced_map.mask.size(); ++i) {
    if (traced_map.mask[i] == 0) continue;
    const double a = static_cast<double>(traced_map.rgb[3 * i] - traced_flat.rgb[3 * i]);
    const double b = static_cast<double>(lit_map.rgb[3 * i] - lit_flat.rgb[3 * i]);
    ab += a * b, aa += a * a, bb += b * b;
  }
  EXPECT_GT(ab / std::sqrt(aa * bb), 0.8);
}

TEST(RenderLit, AConvexBodyLooksTheSameWithShadows) {
  const Plate plate(Bumps::kMap);
  LitOptions with, without;
  with.ground_shadow = without.shadows = false;
  const Picture a = renderLit(*plate.surface, plateCamera(), 96, 96, plate.materials(), with);
  const Picture b = renderLit(*plate.surface, plateCamera(), 96, 96, plate.materials(), without);
  EXPECT_EQ(a.image.rgb, b.image.rgb) << "a flat plate hides nothing from itself, whatever its normals";
}

TEST(RenderLit, BadSizesGiveNoPicture) {
  const Plate plate(Bumps::kNone);
  EXPECT_TRUE(renderLit(*plate.surface, plateCamera(), 0, 10, plate.materials()).image.rgb.empty());
  EXPECT_TRUE(
      renderLit(*plate.surface, plateCamera(), 10, kMaxImageSide + 1, plate.materials()).image.rgb.empty());
}

}  // namespace
}  // namespace heatskin
