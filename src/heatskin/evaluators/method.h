#pragma once

// The methods by which a kernel's response at a point is computed, and their options. What else differs
// between them is in method_traits.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class Evaluator;
class PreprocessingCache;

namespace local {

/// How a query on a face with more kernels than candidates chooses.
enum class CandidateRule {
  kPerQuery,  ///< PQ: its own nearest
  kPerFace,   ///< PF: those nearest to the face's centroid, the same for the whole face
  kByReach,   ///< its own nearest in units of their support radii: a wide kernel is not lost among small ones
};

/// What a development must see on its way to the next face.
enum class Sight {
  kLastEdge,  ///< the straight line to the next face passes the shared edge (METHOD section 8)
  kCarried,   ///< the part of that edge which all edges before leave visible decides how soon a face is taken
};

class StoredSupports;

/// Options of LocalHK; the defaults are the paper's final method. Every row of its ablation table is a
/// combination.
struct LocalOptions {
  double diffusion_time = 0.0625;  ///< t
  double window_sigma = 0.1;       ///< sigma of the geodesic window; 0: no window (V0)
  double max_radius = 0.2;         ///< cap of the support radius
  double support_tail = 0.01;      ///< f at the rim of the support
  std::size_t candidates = 50;
  CandidateRule rule = CandidateRule::kPerQuery;
  bool isotropic = false;  ///< ignore anisotropy and angle
  bool euclidean = false;  ///< chord distance and a frame projected in space, on unfolded supports
  Sight sight = Sight::kLastEdge;
  double edge_tolerance = 0.1;  ///< of the edge window, in edge lengths (METHOD section 8)
  /// Faces around a vertex see it at one place of a kernel's plane, the mean of where each of them alone
  /// would see it: no jumps where developments from two sides of a curved place meet. Not in the Euclidean
  /// variant.
  bool join_corners = false;
  /// Surfaces with more than twice as many faces get a support proxy with about so many; 0: never one.
  std::size_t proxy_faces = 20000;
};

}  // namespace local

namespace thermal {

/// Options of ThermalRF; the defaults are the paper's.
struct ThermalOptions {
  double diffusion_time = 0.0625;        ///< t
  double window_sigma = 0.05;            ///< of the Gaussian window over routing distance
  std::size_t candidates = 50;           ///< kernels a query looks at
  std::size_t rank = 192;                ///< of the heat factors
  std::size_t oversampling = 64;         ///< random vectors beyond the rank
  double routing_time = 0.0025;          ///< tau
  std::size_t routing_dimensions = 128;  ///< d
  std::uint64_t seed = 0;                ///< of the random vectors
};

}  // namespace thermal

namespace spectral {

/// Options of HKTex; the defaults are its own.
struct HktexOptions {
  double diffusion_time = 0.06245046192097831;  ///< t; the paper says 0.0625
  double window_sigma = 0.05;                   ///< of the Gaussian window over biharmonic distance
  std::size_t candidates = 50;                  ///< kernels a query looks at
  std::size_t modes = 256;                      ///< eigenpairs per operator
};

}  // namespace spectral

enum class Method : std::uint8_t { kLocal, kThermal, kSpectral };

/// In files and on command lines; in the order of the enum.
inline constexpr std::string_view kMethodNames[] = {"local", "thermal", "spectral"};
inline constexpr Method kMethods[] = {Method::kLocal, Method::kThermal, Method::kSpectral};

/// Everything besides surface and kernels that decides a colour; which alternative it is says the method.
using EvaluatorOptions = std::variant<local::LocalOptions, thermal::ThermalOptions, spectral::HktexOptions>;

inline Method methodOf(const EvaluatorOptions& options) {
  return static_cast<Method>(options.index());
}
inline std::string_view methodName(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}
inline std::string_view methodName(const EvaluatorOptions& options) {
  return methodName(methodOf(options));
}

/// Nothing for a name that is none of kMethodNames.
std::optional<Method> methodNamed(std::string_view name);

/// A method's options as they are without being told otherwise.
EvaluatorOptions defaultOptions(Method method);

/// Which method, with the options of all: those of the others wait in case it is changed.
struct MethodChoice {
  Method method = Method::kLocal;
  local::LocalOptions local;
  thermal::ThermalOptions thermal;
  spectral::HktexOptions spectral;

  /// Of the method chosen.
  EvaluatorOptions options() const;
};

/// How an evaluator is prepared; without influence on its answers.
struct Preparation {
  Progress* progress = nullptr;         ///< may be null
  PreprocessingCache* cache = nullptr;  ///< null: everything is computed

  /// What a file says about where the kernels reach, for LocalHK: the evaluator is made for these kernels
  /// alone (local/stored_supports.h). Null: supports are searched for.
  std::shared_ptr<const local::StoredSupports> supports = nullptr;
};

/// The evaluator `options` ask for. The surface must outlive it. Fails when the surface is too large for the
/// method, when its operators cannot be solved, or when the user cancels.
Result<std::unique_ptr<Evaluator>> makeEvaluator(const Surface& surface, const EvaluatorOptions& options,
                                                 const Preparation& preparation = {});

}  // namespace heatskin
