#include "heatskin/product/product_extension.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/evaluators/method_traits.h"

#include "support/kernel_buffers.h"

namespace heatskin {
namespace {

using Json = nlohmann::ordered_json;

ProductExtension unusual() {
  ProductExtension e;
  local::LocalOptions local;
  local.diffusion_time = 0.02;
  local.window_sigma = 0;
  local.max_radius = 0.4;
  local.support_tail = 0.02;
  local.candidates = 64;
  local.rule = local::CandidateRule::kPerFace;
  local.isotropic = true;
  local.euclidean = true;
  local.sight = local::Sight::kCarried;
  local.edge_tolerance = 0.05;
  local.join_corners = true;
  local.proxy_faces = 5000;
  e.options = local;
  e.mean = Vec3f(0.1f, 0.2f, 1.0f);
  e.scales.bits = {13, 7, 6, 5, 4, 3, 2};
  e.scales.ranges.length = {0.25, 4};
  e.kernels = 7;
  e.buffer_view = 3;
  e.triangles = 12;
  e.info = {"heatskin \"x\"", "draft", 0xFFFFFFFFFFFFFFFFull, 200};
  return e;
}

ProductExtension unusual(std::string_view method) {
  ProductExtension e = unusual();
  if (method == "thermal")
    e.options = thermal::ThermalOptions{0.05, 0.07, 40, 100, 30, 0.002, 96, 0x7FFFFFFFFFFFFFFFull};
  if (method == "spectral") e.options = spectral::HktexOptions{0.06, 0.08, 30, 200};
  return e;
}

TEST(ProductExtension, OptionsOfTheMethodComeBackAndNoOthers) {
  for (const std::string_view method : kMethodNames) {
    const ProductExtension e = unusual(method);
    const auto read = readExtension(writeExtension(e));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(methodName(read->options), method);
    EXPECT_EQ(writeExtension(*read), writeExtension(e));
    for (const Option& option : traits(methodOf(e.options)).options) {
      if (!option.stored) continue;
      EXPECT_TRUE(option.get(optionsStruct(read->options)) == option.get(optionsStruct(e.options)))
          << option.key;
      const EvaluatorOptions standard = defaultOptions(methodOf(e.options));
      EXPECT_FALSE(option.get(optionsStruct(standard)) == option.get(optionsStruct(e.options)))
          << option.key << ": an unusual value shows more";
    }
  }
}

TEST(ProductExtension, WhatIsOptionalComesBackAndIsChecked) {
  ProductExtension e = unusual();
  e.constant_materials.all = {0, 2, 7};
  e.info.filter = "bilinear";
  const auto read = readExtension(writeExtension(e));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->constant_materials, e.constant_materials);
  EXPECT_EQ(read->info.filter, "bilinear");
  EXPECT_EQ(writeExtension(*read), writeExtension(e));
  const Json good = Json::parse(writeExtension(e));
  for (const Json& bad : {Json(3), Json::array(), Json::array({1, 1}), Json::array({2, 1}), Json::array({-1}),
                          Json::array({1.5}), Json::array({"1"}), Json::array({std::uint64_t{1} << 40})}) {
    Json json = good;
    json["constantMaterials"] = bad;
    EXPECT_FALSE(readExtension(json.dump())) << bad;
  }
  Json json = good;
  json["info"]["filter"] = "trilinear";
  EXPECT_FALSE(readExtension(json.dump()));
}

TEST(ProductExtension, EverythingComesBack) {
  const ProductExtension e = unusual();
  const auto read = readExtension(writeExtension(e));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(methodOf(read->options), Method::kLocal);
  const auto &a = std::get<local::LocalOptions>(read->options), &b = std::get<local::LocalOptions>(e.options);
  EXPECT_EQ(a.diffusion_time, b.diffusion_time);
  EXPECT_EQ(a.window_sigma, b.window_sigma);
  EXPECT_EQ(a.max_radius, b.max_radius);
  EXPECT_EQ(a.support_tail, b.support_tail);
  EXPECT_EQ(a.candidates, b.candidates);
  EXPECT_EQ(a.rule, b.rule);
  EXPECT_EQ(a.isotropic, b.isotropic);
  EXPECT_EQ(a.euclidean, b.euclidean);
  EXPECT_EQ(a.sight, b.sight);
  EXPECT_EQ(a.edge_tolerance, b.edge_tolerance);
  EXPECT_EQ(read->mean, e.mean);
  EXPECT_EQ(read->layout, ChannelLayout());
  EXPECT_FALSE(read->records);
  EXPECT_EQ(read->scales.channel_bits, e.scales.channel_bits);
  EXPECT_EQ(read->scales.ranges.length, e.scales.ranges.length);
  EXPECT_EQ(read->scales.bits.triangle, 13);
  EXPECT_EQ(read->scales.bits.barycentric, 7);
  EXPECT_EQ(read->scales.bits.angle, 6);
  EXPECT_EQ(read->scales.bits.anisotropy, 5);
  EXPECT_EQ(read->scales.bits.threshold, 4);
  EXPECT_EQ(read->scales.bits.sharpness, 3);
  EXPECT_EQ(read->scales.bits.length, 2);
  EXPECT_EQ(read->kernels, e.kernels);
  EXPECT_EQ(read->buffer_view, e.buffer_view);
  EXPECT_EQ(read->triangles, e.triangles);
  EXPECT_EQ(read->info.generator, e.info.generator);
  EXPECT_EQ(read->info.preset, e.info.preset);
  EXPECT_EQ(read->info.seed, e.info.seed);
  EXPECT_EQ(read->info.steps, e.info.steps);
  EXPECT_EQ(writeExtension(*read), writeExtension(e));
}

/// The message with which changed JSON is refused; empty if it is not.
std::string refusal(const Json& json) {
  const auto read = readExtension(json.dump());
  if (read) return "";
  EXPECT_EQ(read.error().kind, ErrorKind::kInput);
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  return read.error().message;
}

std::string refusalAt(const char* pointer, const Json& value) {
  Json json = Json::parse(writeExtension(unusual()));
  json[Json::json_pointer(pointer)] = value;
  return refusal(json);
}

/// Pointers to every property, at any depth.
std::vector<std::string> pointers(const Json& json, const std::string& prefix = "") {
  std::vector<std::string> all;
  for (const auto& [key, value] : json.items()) {
    all.push_back(prefix + "/" + key);
    if (value.is_object()) {
      for (std::string& inner : pointers(value, all.back()))
        all.push_back(std::move(inner));
    }
  }
  return all;
}

void expectEveryPropertyRequiredAndTyped(std::string_view method, std::size_t properties) {
  const Json good = Json::parse(writeExtension(unusual(method)));
  EXPECT_EQ(refusal(good), "");
  const std::vector<std::string> all = pointers(good);
  EXPECT_EQ(all.size(), properties);
  for (const std::string& pointer : all) {
    const std::size_t slash = pointer.rfind('/');
    const std::string parent = pointer.substr(0, slash), key = pointer.substr(slash + 1);
    Json missing = good;
    missing[Json::json_pointer(parent)].erase(key);
    EXPECT_NE(refusal(missing).find(key), std::string::npos) << pointer;
    for (const Json& wrong : {Json(nullptr), Json::array({Json::array()}), Json("no such thing")}) {
      if (wrong.is_string() && parent == "/info" && key != "seed" && key != "steps") continue;
      Json mistyped = good;
      mistyped[Json::json_pointer(pointer)] = wrong;
      EXPECT_NE(refusal(mistyped), "") << pointer << " = " << wrong;
    }
    Json unknown = good;
    if (good[Json::json_pointer(pointer)].is_object()) {
      unknown[Json::json_pointer(pointer + "/surprise")] = 1;
      EXPECT_NE(refusal(unknown).find("surprise"), std::string::npos) << pointer;
    }
  }
}

TEST(ProductExtension, EveryPropertyIsRequiredAndTyped) {
  expectEveryPropertyRequiredAndTyped("local", 37);
  expectEveryPropertyRequiredAndTyped("thermal", 33);
  expectEveryPropertyRequiredAndTyped("spectral", 29);
}

TEST(ProductExtension, OptionsOfAnotherMethodAreRefused) {
  for (const std::string_view method : kMethodNames) {
    const Json own = Json::parse(writeExtension(unusual(method)));
    for (const std::string_view other : kMethodNames) {
      if (other == method) continue;
      const Json foreign = Json::parse(writeExtension(unusual(other)));
      // The whole set under the wrong name, and each property by itself.
      Json renamed = foreign;
      renamed["evaluator"]["method"] = method;
      EXPECT_NE(refusal(renamed), "") << other << " as " << method;
      for (const auto& [key, value] : foreign["evaluator"].items()) {
        if (own["evaluator"].contains(key)) continue;
        Json mixed = own;
        mixed["evaluator"][key] = value;
        EXPECT_NE(refusal(mixed).find(key), std::string::npos) << key << " in " << method;
      }
    }
  }
}

TEST(ProductExtension, MethodOptionsOutOfRangeAreRefused) {
  const auto refusedAt = [](std::string_view method, const char* key, const Json& value) {
    Json json = Json::parse(writeExtension(unusual(method)));
    json["evaluator"][key] = value;
    return !refusal(json).empty();
  };
  for (const std::string_view method : {"thermal", "spectral"}) {
    EXPECT_TRUE(refusedAt(method, "diffusionTime", 0));
    EXPECT_TRUE(refusedAt(method, "windowSigma", 0));
    EXPECT_TRUE(refusedAt(method, "windowSigma", -0.05));
    EXPECT_TRUE(refusedAt(method, "candidates", 0));
    EXPECT_TRUE(refusedAt(method, "candidates", 1025));
    EXPECT_FALSE(refusedAt(method, "candidates", 256));
    EXPECT_TRUE(refusedAt(method, "candidates", 257));
  }
  EXPECT_TRUE(refusedAt("thermal", "rank", 0));
  EXPECT_TRUE(refusedAt("thermal", "rank", 513));
  EXPECT_TRUE(refusedAt("thermal", "rank", 1.5));
  EXPECT_TRUE(refusedAt("thermal", "oversampling", -1));
  EXPECT_TRUE(refusedAt("thermal", "routingTime", 0));
  EXPECT_TRUE(refusedAt("thermal", "routingDimensions", 0));
  EXPECT_TRUE(refusedAt("thermal", "seed", -1));
  EXPECT_TRUE(refusedAt("spectral", "modes", 1));
  EXPECT_TRUE(refusedAt("spectral", "modes", 1025));
}

TEST(ProductExtension, ValuesOutOfRangeAreRefused) {
  EXPECT_NE(refusalAt("/triangles", 0), "");
  EXPECT_NE(refusalAt("/triangles", -1), "");
  EXPECT_NE(refusalAt("/triangles", 1.5), "");
  EXPECT_NE(refusalAt("/triangles", 4294967296), "");
  EXPECT_NE(refusalAt("/channels/0/mean/0", 1.001), "");
  EXPECT_NE(refusalAt("/channels/0/mean/2", -0.001), "");
  EXPECT_NE(refusalAt("/kernels/count", 0), "");
  EXPECT_NE(refusalAt("/kernels/count", 1e300), "");
  EXPECT_NE(refusalAt("/kernels/anisotropy", {2, 1}), "");
  EXPECT_NE(refusalAt("/kernels/anisotropy", {0.5, 100}), "");
  EXPECT_NE(refusalAt("/kernels/threshold", {0.3, 1}), "");
  EXPECT_NE(refusalAt("/kernels/threshold", {std::nextafter(0.3, 0.0), 0.9}), "");
  EXPECT_EQ(refusalAt("/kernels/threshold", {0.3, 0.9}), "") << "0.3 itself, as the documentation says";
  EXPECT_EQ(refusalAt("/kernels/threshold", {0.3f, 0.9}), "");
  EXPECT_NE(refusalAt("/kernels/sharpness", {10, 1e9}), "");
  EXPECT_NE(refusalAt("/kernels/length", {0, 1}), "");
  EXPECT_NE(refusalAt("/kernels/length", {1, 17}), "");
  EXPECT_NE(refusalAt("/kernels/length", {1, 1}), "");
  for (const char* column :
       {"triangle", "barycentric", "angle", "anisotropy", "threshold", "sharpness", "length"}) {
    const std::string pointer = std::string("/kernels/bits/") + column;
    const int most = pointer.ends_with("triangle") ? 32 : 16;
    for (const Json& bad : {Json(0), Json(most + 1), Json(-1), Json(8.5), Json("8"), Json(1e300)})
      EXPECT_NE(refusalAt(pointer.c_str(), bad), "") << column << " " << bad;
    EXPECT_EQ(refusalAt(pointer.c_str(), 1), "");
    EXPECT_EQ(refusalAt(pointer.c_str(), most), "");
  }
  for (const Json& bad : {Json(0), Json(1), Json(17), Json(2.5), Json()})
    EXPECT_NE(refusalAt("/channels/0/bits", bad), "") << bad;
  EXPECT_NE(refusalAt("/evaluator/diffusionTime", 0), "");
  EXPECT_NE(refusalAt("/evaluator/windowSigma", -0.1), "");
  EXPECT_NE(refusalAt("/evaluator/maxRadius", 1e6), "");
  EXPECT_NE(refusalAt("/evaluator/supportTail", 1), "");
  EXPECT_NE(refusalAt("/evaluator/candidates", 0), "");
  EXPECT_NE(refusalAt("/evaluator/candidates", 1000000), "");
  EXPECT_NE(refusalAt("/evaluator/method", "magic"), "");
  EXPECT_NE(refusalAt("/evaluator/candidateRule", "perquery"), "");
  EXPECT_NE(refusalAt("/info/steps", 3000000000), "");
  EXPECT_NE(refusalAt("/info/preset", std::string(257, 'x')), "");
  EXPECT_EQ(refusalAt("/info/preset", std::string(256, 'x')), "");
}

TEST(ProductExtension, DoubledPropertiesAreRefused) {
  std::string text = writeExtension(unusual());
  text.insert(text.find("\"isotropic\""), "\"isotropic\":false,");
  const auto read = readExtension(text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("'isotropic' twice"), std::string::npos) << read.error().message;
}

TEST(ProductExtension, NumbersThatJsonDoesNotHaveAreRefused) {
  for (const char* bad : {"NaN", "Infinity", "1e999", "-"}) {
    std::string text = writeExtension(unusual());
    const std::string key = "\"diffusionTime\":";
    const std::size_t at = text.find(key) + key.size();
    text.replace(at, text.find(',', at) - at, bad);
    EXPECT_FALSE(readExtension(text)) << bad;
  }
}

TEST(ProductExtension, MajorVersionsMustBeKnownMinorOnesNeedNot) {
  EXPECT_NE(refusalAt("/version", "3.0").find("newer heatskin"), std::string::npos);
  EXPECT_NE(refusalAt("/version", "1.0").find("has no meanColor"), std::string::npos);
  EXPECT_NE(refusalAt("/version", "0.9"), "");
  for (const char* bad : {"", "1", "1.", ".0", "-1.0", "1.0.0", "1.-1", "one", "1.0 ", "99999999999.0"}) {
    EXPECT_NE(refusalAt("/version", bad), "") << bad;
  }
  EXPECT_EQ(refusalAt("/version", "2.7"), "");
  Json newer = Json::parse(writeExtension(unusual()));
  newer["version"] = "2.7";
  newer["kernels"]["colourful"] = true;
  newer["kernels"]["bits"]["colourful"] = 3;
  EXPECT_EQ(refusal(newer), "") << "properties of later minor versions may be ignored";
  newer["version"] = "2.1";
  EXPECT_NE(refusal(newer), "");
}

TEST(ProductExtension, ChartsComeBack) {
  ProductExtension e = unusual();
  e.charts = {9, 1000, 20, 3};
  Json json = Json::parse(writeExtension(e));
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read && read->charts) << read.error().message;
  EXPECT_EQ(read->charts->buffer_view, 9u);
  EXPECT_EQ(read->charts->steps, 1000u);
  EXPECT_EQ(read->charts->orders, 20u);
  EXPECT_EQ(read->charts->neighbours, 3u);
  EXPECT_EQ(writeExtension(*read), writeExtension(e));
  EXPECT_FALSE(readExtension(writeExtension(unusual()))->charts);
  json["charts"]["surprise"] = 1;
  EXPECT_NE(refusal(json).find("surprise"), std::string::npos);
  json["charts"].erase("surprise");
  json["version"] = "2.0";
  EXPECT_NE(refusal(json).find("unknown property 'charts'"), std::string::npos);
  e = unusual("thermal");
  e.charts = {9, 1000, 20, 3};
  EXPECT_NE(refusal(Json::parse(writeExtension(e))).find("belongs to the method local"), std::string::npos);
}

TEST(ProductExtension, LevelsAreCheckedLikeTheExtensionItself) {
  const Json plain = Json::parse(writeExtension(unusual()));
  Json json = plain;
  json["version"] = "2.4";
  json["levels"] = {{{"node", 7}, {"extension", plain}}};
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->levels.size(), 1u);
  EXPECT_EQ(read->levels[0].node, 7u);
  EXPECT_EQ(writeExtension(*readExtension(read->levels[0].json)), writeExtension(unusual()));
  const auto refused = [&](const char* place, const Json& value) {
    Json wrong = json;
    wrong[Json::json_pointer(place)] = value;
    return refusal(wrong);
  };
  EXPECT_NE(refused("/levels/0/node", -1).find("levels[0]"), std::string::npos);
  EXPECT_NE(refused("/levels/0/extension/kernels/count", 0).find("levels[0]"), std::string::npos);
  EXPECT_NE(refused("/levels/0/extension", json).find("levels[0]"), std::string::npos) << "levels of levels";
  EXPECT_NE(refused("/levels/0/surprise", 1).find("surprise"), std::string::npos);
  EXPECT_NE(refused("/levels", Json::array()).find("levels"), std::string::npos);
  EXPECT_NE(refused("/levels", Json(std::vector<Json>(65, json["levels"][0]))).find("levels"),
            std::string::npos);
  EXPECT_NE(refused("/version", "2.3").find("unknown property 'levels'"), std::string::npos);
}

TEST(ProductExtension, ChartsOnAProxyComeBackUnderAnotherName) {
  ProductExtension e = unusual();
  e.charts = {9, 1000, 20, 3, ProxyHeader{50, 90, 2, 700}};
  std::get<local::LocalOptions>(e.options).euclidean = false;
  Json json = Json::parse(writeExtension(e));
  EXPECT_EQ(json["version"], "2.3");
  EXPECT_FALSE(json.contains("charts")) << "readers of 2.2 would follow steps on triangles of the file";
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read && read->charts && read->charts->proxy) << read.error().message;
  EXPECT_EQ(read->charts->steps, 1000u);
  EXPECT_EQ(read->charts->proxy->vertices, 50u);
  EXPECT_EQ(read->charts->proxy->faces, 90u);
  EXPECT_EQ(read->charts->proxy->face_neighbours, 2u);
  EXPECT_EQ(read->charts->proxy->listed, 700u);
  EXPECT_EQ(writeExtension(*read), writeExtension(e));
  json["proxyCharts"]["surprise"] = 1;
  EXPECT_NE(refusal(json).find("surprise"), std::string::npos);
  json["proxyCharts"].erase("surprise");
  json["evaluator"]["euclidean"] = true;
  EXPECT_NE(refusal(json).find("euclidean"), std::string::npos);
  json["evaluator"]["euclidean"] = false;
  json["charts"] = {{"bufferView", 9}, {"steps", 10}, {"orders", 0}, {"neighbours", 0}};
  EXPECT_NE(refusal(json).find("charts and proxyCharts"), std::string::npos);
  json.erase("charts");
  json["version"] = "2.2";
  EXPECT_NE(refusal(json).find("unknown property 'proxyCharts'"), std::string::npos);
}

/// With vectors of the tangent plane.
ProductExtension vectors() {
  ProductExtension e = unusual();
  ChannelGroup slope{"slope", 2, 0, {-3, 3}};
  slope.kind = ChannelKind::kTangent;
  e.options = local::LocalOptions();
  e.layout = *ChannelLayout::make({{"base_color", 3}, slope});
  e.scales.channel_bits = {11, 11, 11, 9, 9};
  e.mean = ChannelValues::Constant(5, 0.5f);
  return e;
}

TEST(ProductExtension, TangentGroupsComeBackOrAreRefused) {
  const ProductExtension e = vectors();
  const Json json = Json::parse(writeExtension(e));
  EXPECT_EQ(json["version"], "2.1");
  EXPECT_EQ(json["channels"][1]["kind"], "tangent");
  EXPECT_FALSE(json["channels"][0].contains("kind"));
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->layout, e.layout);
  EXPECT_EQ(writeExtension(*read), writeExtension(e));

  const auto with = [&](const char* name, const Json& value) {
    Json bad = json;
    bad["channels"][1][name] = value;
    return refusal(bad);
  };
  EXPECT_EQ(with("kind", "plain"), "") << "said in so many words";
  for (const Json& kind : {Json("vector"), Json(""), Json(1), Json(nullptr), Json(Json::array())})
    EXPECT_NE(with("kind", kind), "") << kind;
  for (const Json& range : {Json({-3, 2}), Json({0, 3}), Json({3, -3}), Json({-3, 3.0001})})
    EXPECT_NE(with("range", range), "") << range;
  for (const Json& mean : {Json({0.5, 0.51}), Json({0, 0}), Json({0.5}), Json({0.5, 0.5, 0.5})})
    EXPECT_NE(with("mean", mean), "") << mean;
  Json three = json;
  three["channels"][1]["count"] = 3;
  three["channels"][1]["mean"] = {0.5, 0.5, 0.5};
  EXPECT_NE(refusal(three).find("tangent vectors have 2"), std::string::npos) << refusal(three);
  Json color = json;
  color["channels"][0]["kind"] = "tangent";
  EXPECT_NE(refusal(color), "");

  for (const Method method : {Method::kThermal, Method::kSpectral}) {
    ProductExtension other = e;
    other.options = defaultOptions(method);
    EXPECT_NE(refusal(Json::parse(writeExtension(other))).find("tangent vectors"), std::string::npos);
  }
}

/// Five groups with eleven channels.
ProductExtension eleven() {
  ProductExtension e = unusual();
  e.layout = *ChannelLayout::make({{"base_color", 3},
                                   {"alpha", 1},
                                   {"height", 1, 0, {-0.1f, 3}},
                                   {"slope", 2, 0, {-1, 1}},
                                   {"glow", 4, 0, {0, 50}}});
  e.scales.channel_bits = {11, 11, 11, 8, 13, 2, 2, 16, 16, 16, 16};
  e.mean.resize(11);
  for (Eigen::Index c = 0; c < 11; ++c)
    e.mean[c] = 0.09f * static_cast<float>(c);
  return e;
}

TEST(ProductExtension, ChannelsComeBack) {
  const ProductExtension e = eleven();
  const Json json = Json::parse(writeExtension(e));
  EXPECT_EQ(json["version"], "2.0");
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->layout, e.layout);
  EXPECT_EQ(read->mean, e.mean);
  EXPECT_EQ(read->scales.channel_bits, e.scales.channel_bits);
  EXPECT_EQ(writeExtension(*read), writeExtension(e));
  Json plain = json;
  plain["channels"].erase(plain["channels"].begin() + 1, plain["channels"].end());
  const auto alone = readExtension(plain.dump());
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->layout, ChannelLayout());
  // Minor versions as ever.
  Json newer = json;
  newer["channels"][1]["surprise"] = 1;
  EXPECT_NE(refusal(newer).find("surprise"), std::string::npos);
  newer["version"] = "2.9";
  EXPECT_EQ(refusal(newer), "");
}

TEST(ProductExtension, VersionOneIsReadAndWrittenAsVersionTwo) {
  ProductExtension e = unusual();
  e.constant_materials.all = {1, 4};
  const Json one = Json::parse(testing::versionOneJson(e));
  EXPECT_EQ(one["version"], "1.1");
  for (const char* version : {"1.0", "1.1", "1.7"}) {
    Json json = one;
    json["version"] = version;
    const auto read = readExtension(json.dump());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->records);
    EXPECT_EQ(read->layout, ChannelLayout());
    EXPECT_EQ(read->mean, e.mean);
    EXPECT_EQ(read->kernels, e.kernels);
    EXPECT_EQ(read->constant_materials, e.constant_materials);
    EXPECT_EQ(read->scales.bits.barycentric, 16);
    EXPECT_EQ(read->scales.channel_bits, (std::vector<int>{11, 11, 10}));
  }
  // It has no properties of version 2, and version 2 has none of its own.
  for (const auto& [pointer, value] : {std::pair<const char*, Json>{"/channels", Json::array()},
                                       {"/kernels/bits", Json::object()},
                                       {"/kernels/length", {1, 2}},
                                       {"/kernels/surprise", 1}}) {
    Json json = one;
    json[Json::json_pointer(pointer)] = value;
    EXPECT_NE(refusal(json).find("unknown property"), std::string::npos) << pointer;
    json["version"] = "1.2";
    EXPECT_EQ(refusal(json), "") << pointer;
  }
  for (const Json& mean : {Json({0.5, 0.5}), Json({0.5, 0.5, 1.01}), Json({0.5, 0.5, "1"}), Json()}) {
    Json json = one;
    json["meanColor"] = mean;
    EXPECT_NE(refusal(json).find("meanColor"), std::string::npos) << mean;
  }
}

TEST(ProductExtension, HostileChannelsAreRefused) {
  const Json good = Json::parse(writeExtension(eleven()));
  const auto refused = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    const std::string message = refusal(json);
    EXPECT_EQ(message.empty() || message.find("channels") != std::string::npos, true) << message;
    return !message.empty();
  };
  for (const Json& bad : {Json(), Json(3), Json("base_color"), Json::object(), Json::array(),
                          Json::array({Json::array()}), Json::array({1, 2, 3})}) {
    EXPECT_TRUE(refused("/channels", bad)) << bad;
  }
  Json many = Json::array();
  for (int i = 0; i < 100'000; ++i)
    many.push_back(1);
  EXPECT_TRUE(refused("/channels", many));
  for (std::size_t g = 0; g < 5; ++g) {
    const std::string at = "/channels/" + std::to_string(g);
    for (const char* key : {"/name", "/count", "/range", "/bits", "/mean"}) {
      Json missing = good;
      missing["channels"][g].erase(key + 1);
      EXPECT_NE(refusal(missing).find(key + 1), std::string::npos);
      EXPECT_TRUE(refused((at + key).c_str(), nullptr));
      EXPECT_TRUE(refused((at + key).c_str(), Json::object()));
    }
    for (const Json& count :
         {Json(0), Json(-1), Json(1.5), Json(17), Json(5), Json(1e300), Json(std::uint64_t{1} << 63)}) {
      EXPECT_TRUE(refused((at + "/count").c_str(), count)) << count;
    }
    for (const Json& range :
         {Json({1, 0}), Json({0, 0}), Json({0, nullptr}), Json({0, 1e30}), Json({-1e300, 0}), Json({0}),
          Json({0, 1, 2}), Json({1000, 1000.0001}), Json({"0", "1"})}) {
      EXPECT_TRUE(refused((at + "/range").c_str(), range)) << range;
    }
    EXPECT_TRUE(refused((at + "/mean/0").c_str(), 1.01));
    EXPECT_TRUE(refused((at + "/mean/0").c_str(), -0.01));
    EXPECT_TRUE(refused((at + "/mean/0").c_str(), nullptr));
    for (const char* name : {"", "Alpha", "a b", "../x"})
      EXPECT_TRUE(refused((at + "/name").c_str(), name)) << name;
    EXPECT_TRUE(refused((at + "/name").c_str(), std::string(65, 'a')));
    EXPECT_TRUE(refused((at + "/name").c_str(), g == 1 ? "height" : "alpha"))
        << "twice, or not alpha's channels";
  }
  EXPECT_TRUE(refused("/channels/0/range", {0, 2})) << "a base colour has one range";
  Json turned = good;
  std::swap(turned["channels"][0], turned["channels"][1]);
  EXPECT_NE(refusal(turned).find("begin with base_color"), std::string::npos);
  // Thirty-three channels in groups that are possible one by one.
  Json wide = good;
  wide["channels"][4]["count"] = 26;
  wide["channels"][4]["mean"] = std::vector<double>(26, 0.5);
  EXPECT_NE(refusal(wide).find("1 to 32 channels, not 33"), std::string::npos) << refusal(wide);
  // NaN has no JSON; written as text it is no JSON at all.
  std::string text = good.dump();
  text.replace(text.find("50"), 2, "NaN");
  EXPECT_FALSE(readExtension(text));
  Json mixed = good;
  mixed["meanColor"] = {0.5, 0.5, 0.5};
  EXPECT_NE(refusal(mixed).find("meanColor"), std::string::npos);
  Json old = good;
  old["version"] = "1.1";
  EXPECT_NE(refusal(old), "");
  Json constants = good;
  constants["constantMaterials"] = {0};
  EXPECT_NE(refusal(constants).find("constantMaterials"), std::string::npos) << "nothing says their height";
  constants["channels"].erase(constants["channels"].begin() + 2, constants["channels"].end());
  EXPECT_EQ(refusal(constants), "") << "a material has a colour and an alpha";
}

TEST(ProductExtension, ExtrasAreAllowedEverywhere) {
  EXPECT_EQ(refusalAt("/extras", {{"anything", 1}}), "");
  EXPECT_EQ(refusalAt("/kernels/extras", "x"), "");
}

TEST(ProductExtension, TextThatIsNoObjectIsRefused) {
  for (const char* text : {"", "null", "[]", "3", "\"version\"", "{", "{}", "{\"version\":1}"}) {
    EXPECT_FALSE(readExtension(text)) << text;
  }
}

}  // namespace
}  // namespace heatskin
