// heatskin query, with real processes on products made by the library.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/files.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/table_file.h"
#include "heatskin/product/product.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

/// A product file, and the same as objects to compare with.
class QueryTest : public ::testing::Test {
 protected:
  void SetUp() override { make(mirroredInstances()); }

  void make(const Asset& asset) {
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const auto glb =
        encodeProduct(asset, *surface, randomKernels(*surface, 300), {}, {"test", "draft", 1, 2});
    ASSERT_TRUE(glb) << glb.error().message;
    product_path_ = folder_.write("p.glb", {reinterpret_cast<const char*>(glb->data()), glb->size()});
    auto product = loadProduct(product_path_);
    ASSERT_TRUE(product) << product.error().message;
    product_ = std::move(*product);
  }

  ProcessOutcome query(const std::string& points, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"query", product_path_, "--points", points});
    return runHeatskin(more);
  }

  std::vector<Vec3f> expected(const std::vector<SurfacePoint>& points) const {
    std::vector<Vec3f> colors(points.size());
    KernelTexture::create(product_.surface, product_.kernels, product_.options)->colors(points, colors);
    return colors;
  }

  /// The rows of what query wrote.
  std::vector<std::vector<double>> rows(const std::string& csv) const {
    const auto table = parseTable({reinterpret_cast<const std::uint8_t*>(csv.data()), csv.size()});
    if (!table) {
      ADD_FAILURE() << table.error().message;
      return {};
    }
    std::vector<std::vector<double>> out(table->rows());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto begin = table->values.begin() + static_cast<std::ptrdiff_t>(i * table->columns);
      out[i].assign(begin, begin + static_cast<std::ptrdiff_t>(table->columns));
    }
    return out;
  }

  void expectRefused(const std::string& points, const std::string& part) {
    const auto outcome = query(folder_.write("bad.csv", points));
    EXPECT_EQ(outcome.exit_code, 3) << points << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("bad.csv: " + part), std::string::npos) << outcome.err;
  }

  TemporaryFolder folder_;
  std::string product_path_;
  Product product_;
};

TEST_F(QueryTest, FacesAndPositionsGiveTheColoursOfTheTexture) {
  const SourceTriangles triangles(product_.asset, *product_.surface);
  const std::vector<SurfacePoint> points = sampleSurface(*product_.surface, 200, 4);
  std::string by_face = "face,b0,b1,b2\n", by_place;
  for (const SurfacePoint& p : points) {
    const TrianglePoint t = triangles.toTriangle(p);
    by_face += fmt::format("{},{},{},{}\n", t.triangle, t.barycentric[0], t.barycentric[1], t.barycentric[2]);
    const Vec3 x = triangles.assetPosition(t);
    by_place += fmt::format("{}, {}, {}\r\n", x[0], x[1], x[2]);
  }
  const std::vector<Vec3f> colors = expected(points);
  for (const std::string& text : {by_face, by_place}) {
    const auto outcome = query(folder_.write("points.csv", text));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto answers = rows(outcome.out);
    ASSERT_EQ(answers.size(), points.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i].size(), 3u);
      for (std::size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(answers[i][c], colors[i][static_cast<Eigen::Index>(c)], 1e-4) << "point " << i;
    }
  }
}

TEST_F(QueryTest, NumpyInAndOutWithCoverage) {
  const std::vector<float> points = {0, 1, 0, 0, 3, 0.25f, 0.25f, 0.5f};
  ASSERT_TRUE(writeFileAtomically(folder_ / "in.npy", encodeNpy(points, 4)));
  const auto outcome = query(folder_ / "in.npy", {"-o", folder_ / "out.npy", "--coverage"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const auto table = readTable(folder_ / "out.npy");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns, 4u);
  EXPECT_EQ(table->rows(), 2u);
  const auto csv = query(folder_ / "in.npy", {"-o", folder_ / "out.csv"});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  const auto lines = rows(folder_.read("out.csv"));
  ASSERT_EQ(lines.size(), 2u);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_GE(table->values[4 * r + 3], 0) << "the weight sum";
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(static_cast<float>(lines[r][c]), static_cast<float>(table->values[4 * r + c]));
  }
}

TEST_F(QueryTest, NoPointsGiveNoLines) {
  for (const char* text : {"x,y,z\n", "face,b0,b1,b2"}) {
    const auto outcome = query(folder_.write("none.csv", text));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "r,g,b\n");
    EXPECT_NE(outcome.err.find("none.csv: has no points"), std::string::npos) << outcome.err;
  }
  ASSERT_EQ(query(folder_.write("none.csv", "x,y,z\n"), {"-o", folder_ / "o.npy"}).exit_code, 0);
  EXPECT_EQ(readTable(folder_ / "o.npy")->rows(), 0u);
  // Nothing at all is more likely a mistake.
  for (const char* text : {"", "\n", " \n\n"}) {
    const auto outcome = query(folder_.write("none.csv", text));
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("--points " + (folder_ / "none.csv") + ": is empty"), std::string::npos)
        << outcome.err;
  }
}

TEST_F(QueryTest, CsvHasAHeaderUnlessAskedNotTo) {
  const std::string points = folder_.write("points.csv", "0,0,1\n0,1,0\n");
  const std::string with = query(points).out, without = query(points, {"--no-header"}).out;
  EXPECT_EQ(with, "r,g,b\n" + without);
  EXPECT_EQ(std::count(without.begin(), without.end(), '\n'), 2);
  EXPECT_EQ(query(points, {"--coverage"}).out.substr(0, 15), "r,g,b,coverage\n");
  ASSERT_EQ(query(points, {"-o", folder_ / "o.csv"}).exit_code, 0);
  EXPECT_EQ(folder_.read("o.csv"), with);
}

TEST_F(QueryTest, PointsMayComeFromStandardInput) {
  const std::string points = folder_.write("points.csv", "x,y,z\n0,0,1\n0,1,0\n");
  const std::string npy = folder_ / "points.npy";
  ASSERT_TRUE(writeFileAtomically(npy, encodeNpy(std::vector<float>{0, 0, 1, 0, 1, 0}, 3)));
  const std::string expected_out = query(points).out;
  const auto piped = [&](const std::string& input) {
    return runProcess(
        {"/bin/sh", "-c", input + " | '" + heatskinBinary() + "' query '" + product_path_ + "' --points -"});
  };
  for (const std::string& file : {points, npy}) {
    const auto outcome = piped("cat '" + file + "'");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, expected_out);
  }
  const auto empty = piped("true");
  EXPECT_EQ(empty.exit_code, 3) << empty.err;
  EXPECT_NE(empty.err.find("--points -: is empty"), std::string::npos) << empty.err;
  const auto wrong = piped("echo 1,2,three");
  EXPECT_EQ(wrong.exit_code, 3) << wrong.err;
  EXPECT_NE(wrong.err.find("standard input: line 1: "), std::string::npos) << wrong.err;
}

TEST_F(QueryTest, ReportsCountsRateAndBytes) {
  const std::string points = folder_.write("points.csv", "0,0,9\n0,0,1\n");
  const auto outcome = query(points, {"--json", folder_ / "r.json", "--threads", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3) << "names and two points";
  const json report = json::parse(folder_.read("r.json"));
  EXPECT_EQ(report["points"], 2);
  EXPECT_EQ(report["kernels"], 300);
  EXPECT_EQ(report["model_bytes"], product_.model_bytes);
  EXPECT_EQ(report["method"], "local");
  EXPECT_EQ(report["threads"], 1);
  EXPECT_GT(report["query_mpoints_s"].get<double>(), 0);
  EXPECT_GT(report["max_distance"].get<double>(), 5) << "the first point is 9 units above the object";
}

TEST_F(QueryTest, WrongPointsAreRefusedByLine) {
  const std::size_t faces = countTriangles(product_.asset);
  expectRefused("1,2\n", "line 1 has 2 columns");
  expectRefused("0,0,0\n1,2,3,4\n", "line 2: 4 columns");
  expectRefused("a,b,c\n1,2,3\n", "line 1: the columns must be called");
  expectRefused("x,y,z\n1,2,nan\n", "line 2: a number is not finite");
  expectRefused("x,y,z\n1,2,3\n1,2,three\n", "line 3: ");
  expectRefused("1,2,3\n1e300,0,0\n", "line 2: the point is too far");
  expectRefused(fmt::format("0,1,0,0\n{},1,0,0\n", faces), "line 2: face");
  expectRefused("0,1,0,0\n-1,1,0,0\n", "line 2: face -1 does not exist");
  expectRefused("0.5,1,0,0\n", "line 1: face 0.5 does not exist");
  expectRefused("face,b0,b1,b2\n0,0.5,0.5,0.1\n", "line 2: barycentric");
  expectRefused("0,1.5,-0.5,0\n", "line 1: barycentric");
  EXPECT_EQ(query(folder_.write("ok.csv", fmt::format("{},0.3333,0.3333,0.3333\n", faces - 1))).exit_code, 0);
}

TEST_F(QueryTest, WrongUsageIsSaidBeforeWorking) {
  const std::string points = folder_.write("points.csv", "0,0,1\n");
  EXPECT_EQ(query(points, {"-o", folder_ / "out.txt"}).exit_code, 2);
  EXPECT_EQ(query(points, {"--json", "-"}).exit_code, 2);
  EXPECT_EQ(query(points, {"-o", folder_ / "no/out.csv"}).exit_code, 1);
  EXPECT_EQ(runHeatskin({"query", product_path_}).exit_code, 2) << "points are required";
  EXPECT_EQ(query(folder_ / "missing.csv").exit_code, 3);
  EXPECT_EQ(runHeatskin(
                {"query", folder_.write("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), "--points", points})
                .exit_code,
            3)
      << "an asset is no product";
  EXPECT_EQ(query(points, {"-o", folder_ / "out.csv", "--json", "-"}).exit_code, 0);
}

TEST_F(QueryTest, TrianglesTheSurfaceDroppedAnswerByTheirPlace) {
  Soup soup = cube(2);
  const auto count = soup.faces.size();
  soup.faces.push_back(soup.faces[5]);
  make(assetOf(soup));
  const std::string points =
      folder_.write("points.csv", fmt::format("5,0.2,0.3,0.5\n{},0.2,0.3,0.5\n", count));
  const auto outcome = query(points);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto answers = rows(outcome.out);
  ASSERT_EQ(answers.size(), 2u);
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(answers[0][c], answers[1][c], 1e-4);
}

TEST_F(QueryTest, SameBytesOnAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += fmt::format("{},{},{}\n", std::sin(i), std::cos(1.7 * i), std::sin(0.3 * i));
  const std::string points = folder_.write("points.csv", text);
  const std::string one = query(points, {"--threads", "1"}).out;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 3001);
  EXPECT_EQ(query(points, {"--threads", "3"}).out, one);
}

TEST_F(QueryTest, InspectSaysThatItIsAProduct) {
  const auto outcome = runHeatskin({"inspect", product_path_, "--json", folder_ / "i.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(folder_.read("i.json"));
  EXPECT_EQ(report["kernels"], 300);
  EXPECT_EQ(report["method"], "local");
  EXPECT_EQ(report["model_bytes"], product_.model_bytes);
  EXPECT_NEAR(report["bytes_per_kernel"].get<double>(), product_.bytesPerKernel(), 1e-9);
  EXPECT_EQ(report["preset"], "draft");
  EXPECT_NE(outcome.out.find("Kernels"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace heatskin::testing
