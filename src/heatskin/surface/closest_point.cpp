#include "heatskin/surface/closest_point.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include <embree3/rtcore.h>

#include "heatskin/base/parallel.h"

namespace heatskin {

/// Ericson, Real-Time Collision Detection, section 5.1.5: the Voronoi region of the nearest feature decides.
Vec3 closestBarycentric(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 ab = b - a, ac = c - a, ax = x - a;
  const double d1 = ab.dot(ax), d2 = ac.dot(ax);
  if (d1 <= 0 && d2 <= 0) return {1, 0, 0};
  const Vec3 bx = x - b;
  const double d3 = ab.dot(bx), d4 = ac.dot(bx);
  if (d3 >= 0 && d4 <= d3) return {0, 1, 0};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) {
    const double v = d1 / (d1 - d3);
    return {1 - v, v, 0};
  }
  const Vec3 cx = x - c;
  const double d5 = ab.dot(cx), d6 = ac.dot(cx);
  if (d6 >= 0 && d5 <= d6) return {0, 0, 1};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) {
    const double w = d2 / (d2 - d6);
    return {1 - w, 0, w};
  }
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
    const double w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return {0, 1 - w, w};
  }
  const double sum = va + vb + vc;
  if (!(sum > 0)) return {1, 0, 0};
  const double v = vb / sum, w = vc / sum;
  return {std::max(0.0, 1 - v - w), v, w};
}

namespace {

// Embree prunes with float boxes around float bounds; coordinates are at most about 2, so one part in 10^6 of
// slack (16 ulp) on the radius and an absolute 1e-6 keep every face that could be nearest in double.
constexpr float kRadiusSlack = 1.0f + 1e-6f;
constexpr float kRadiusFloor = 1e-6f;

}  // namespace

struct ClosestPointQuery::State {
  const Surface* surface = nullptr;
  RTCDevice device = nullptr;
  RTCScene scene = nullptr;

  explicit State(const Surface& s) : surface(&s) {
    // No thread limit here: Embree would impose it on all of TBB, ours included. The shape of its tree may
    // depend on threads, the answers do not: ties are resolved by face.
#ifdef HEATSKIN_STD_THREADS
    // ThreadSanitizer cannot see when Embree's threads call bounds(); ours do not use TBB then.
    device = rtcNewDevice("threads=1");
#else
    device = rtcNewDevice(nullptr);
#endif
    // Embree reports a failed allocation and leaves a scene that must not be asked.
    if (device == nullptr) throw std::bad_alloc();
    scene = rtcNewScene(device);
    if (scene == nullptr) {
      rtcReleaseDevice(device);
      throw std::bad_alloc();
    }
    rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
    rtcSetSceneBuildQuality(scene, RTC_BUILD_QUALITY_MEDIUM);
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
    rtcSetGeometryUserPrimitiveCount(geometry, s.faceCount());
    rtcSetGeometryUserData(geometry, this);
    rtcSetGeometryBoundsFunction(geometry, &State::bounds, nullptr);
    rtcSetGeometryPointQueryFunction(geometry, &State::visit);
    rtcCommitGeometry(geometry);
    rtcAttachGeometry(scene, geometry);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(scene);
    if (rtcGetDeviceError(device) != RTC_ERROR_NONE) {
      rtcReleaseScene(scene);
      rtcReleaseDevice(device);
      throw std::bad_alloc();
    }
  }
  ~State() {
    rtcReleaseScene(scene);
    rtcReleaseDevice(device);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static void bounds(const RTCBoundsFunctionArguments* args) {
    const auto* self = static_cast<const State*>(args->geometryUserPtr);
    const auto& face = self->surface->faces()[args->primID];
    Vec3 low = self->surface->positions()[face[0]], high = low;
    for (std::size_t c = 1; c < 3; ++c) {
      low = low.cwiseMin(self->surface->positions()[face[c]]);
      high = high.cwiseMax(self->surface->positions()[face[c]]);
    }
    const auto down = [](double x) { return std::nextafter(static_cast<float>(x), -10.0f); };
    const auto up = [](double x) { return std::nextafter(static_cast<float>(x), 10.0f); };
    *args->bounds_o = {down(low.x()), down(low.y()), down(low.z()), 0,
                       up(high.x()),  up(high.y()),  up(high.z()),  0};
  }

  struct Search {
    Vec3 x;
    double best = std::numeric_limits<double>::infinity();  // squared distance, with handicap
    SurfacePoint point;
    const State* state;
    const std::function<double(std::uint32_t)>* handicap = nullptr;
  };

  static bool visit(RTCPointQueryFunctionArguments* args) {
    auto* search = static_cast<Search*>(args->userPtr);
    const Surface& surface = *search->state->surface;
    const std::uint32_t face = args->primID;
    const auto& corner = surface.faces()[face];
    const Vec3 &a = surface.positions()[corner[0]], &b = surface.positions()[corner[1]],
               &c = surface.positions()[corner[2]];
    const Vec3 weights = closestBarycentric(search->x, a, b, c);
    double d = (weights[0] * a + weights[1] * b + weights[2] * c - search->x).squaredNorm();
    if (search->handicap != nullptr) {
      const double factor = (*search->handicap)(face);
      if (std::isinf(factor)) return false;
      d *= factor * factor;
    }
    if (d > search->best || (d == search->best && face > search->point.face)) return false;
    const bool closer = d < search->best;
    search->best = d;
    search->point = {face, weights};
    if (!closer) return false;
    args->query->radius = static_cast<float>(std::sqrt(d)) * kRadiusSlack + kRadiusFloor;
    return true;
  }

  ClosestPoint search(Search search) const {
    const Vec3& x = search.x;
    RTCPointQueryContext context;
    rtcInitPointQueryContext(&context);
    RTCPointQuery query{static_cast<float>(x.x()), static_cast<float>(x.y()), static_cast<float>(x.z()), 0,
                        std::numeric_limits<float>::infinity()};
    rtcPointQuery(scene, &query, &context, nullptr, &search);
    return {search.point, std::sqrt(search.best)};
  }
};

ClosestPointQuery::ClosestPointQuery(const Surface& surface) : state_(std::make_unique<State>(surface)) {}
ClosestPointQuery::~ClosestPointQuery() = default;
ClosestPointQuery::ClosestPointQuery(ClosestPointQuery&&) noexcept = default;
ClosestPointQuery& ClosestPointQuery::operator=(ClosestPointQuery&&) noexcept = default;

ClosestPoint ClosestPointQuery::operator()(const Vec3& x) const {
  return state_->search({x, std::numeric_limits<double>::infinity(), {}, state_.get()});
}

ClosestPoint ClosestPointQuery::find(const Vec3& x,
                                     const std::function<double(std::uint32_t)>& handicap) const {
  ClosestPoint found =
      state_->search({x, std::numeric_limits<double>::infinity(), {}, state_.get(), &handicap});
  found.distance /= handicap(found.point.face);
  return found;
}

void ClosestPointQuery::find(std::span<const Vec3> x, std::span<ClosestPoint> out) const {
  constexpr std::size_t kBlock = 256;
  parallelFor(x.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = (*this)(x[i]);
  });
}

}  // namespace heatskin
