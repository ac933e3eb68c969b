// A furnished room, and what a ray from its camera meets. Metres; y points up, the floor is y = 0.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/rng.h"

namespace fovea::rooms {

struct Vec3 {
  double x = 0, y = 0, z = 0;

  [[nodiscard]] friend Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  [[nodiscard]] friend Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  [[nodiscard]] friend Vec3 operator*(double s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
};
[[nodiscard]] inline double dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/// Points from + t along, t > 0.
struct Ray {
  Vec3 from, along;
};

/// Where a ray meets a surface.
struct Hit {
  double t = 0;
  Vec3 normal{};  ///< unit length, towards the camera's side
  int face = 0;   ///< of the room: 0 and 1 across x, 2 floor, 3 ceiling, 4 and 5 across z
};

using Albedo = std::array<double, 3>;  ///< in [0, 1]

/// A piece of furniture: a sphere, a box turned about the vertical, or a cylinder.
struct Piece {
  enum class Form { sphere, box, cylinder };
  Form form = Form::sphere;
  Vec3 base{};                                ///< middle of its lowest point or face
  double radius = 0;                          ///< of a sphere or cylinder
  double half_x = 0, half_z = 0, height = 0;  ///< of a box; height also of a cylinder
  double cosine = 1, sine = 0;                ///< of a box's turn
  Albedo albedo{};

  [[nodiscard]] std::optional<Hit> meet(const Ray& ray) const;
};

/// Everything is drawn by the constructor.
class RoomScene {
 public:
  explicit RoomScene(Rng& rng);

  /// The ray through a point of the picture, in units of its width from its middle: x to the right,
  /// y down. The camera sees 60 degrees across. t is the depth along the optical axis.
  [[nodiscard]] Ray ray(double x, double y) const;

  struct Seen {
    double depth = 0;  ///< metres along the optical axis
    Albedo color{};    ///< in [0, 1]
  };
  [[nodiscard]] Seen look(const Ray& ray) const;

 private:
  [[nodiscard]] Hit meet_walls(const Ray& ray) const;
  [[nodiscard]] Albedo wall_albedo(const Hit& hit, Vec3 point) const;
  void furnish(Rng& rng);
  void place_camera(Rng& rng);

  Vec3 size_{};  ///< of the room: x, height, z
  std::array<Albedo, 6> walls_{};
  int checkered_ = 0;  ///< face with a checker
  double checker_side_ = 0;
  Vec3 light_{}, camera_{};
  Vec3 right_{}, down_{}, forward_{};  ///< axes of the camera
  std::vector<Piece> pieces_;
};

}  // namespace fovea::rooms
