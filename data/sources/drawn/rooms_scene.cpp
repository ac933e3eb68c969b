// Drawing of rooms, and intersections of rays with their surfaces.
#include "data/sources/drawn/rooms_scene.h"

#include <algorithm>
#include <cmath>

namespace fovea::rooms {
namespace {

constexpr double kMinT = 1e-6;
constexpr double kAmbient = 0.3;
constexpr double kHalfWidth = 0.57735026918962576;  // tan(30 degrees)

Albedo draw_albedo(Rng& rng) {
  return {rng.uniform(0.15, 1), rng.uniform(0.15, 1), rng.uniform(0.15, 1)};
}

double axis_of(Vec3 v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

Vec3 unit(int axis, double sign) {
  return {axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0};
}

Vec3 scaled_to_unit(Vec3 v) { return 1 / std::sqrt(dot(v, v)) * v; }

/// The smaller root of a t^2 + 2 b t + c = 0, where it is positive and real.
std::optional<double> near_root(double a, double b, double c) {
  const double discriminant = b * b - a * c;
  if (a <= 0 || discriminant <= 0) return {};
  const double t = (-b - std::sqrt(discriminant)) / a;
  return t > kMinT ? std::optional(t) : std::nullopt;
}

std::optional<Hit> meet_sphere(const Piece& p, const Ray& ray) {
  const Vec3 middle{p.base.x, p.radius, p.base.z}, away = ray.from - middle;
  const auto t = near_root(dot(ray.along, ray.along), dot(away, ray.along),
                           dot(away, away) - p.radius * p.radius);
  if (!t) return {};
  return Hit{*t, 1 / p.radius * (away + *t * ray.along), 0};
}

/// The lid, where the ray comes from above and meets it within `inside`.
template <class Inside>
std::optional<Hit> meet_lid(double height, const Ray& ray, const Inside& inside) {
  if (ray.along.y >= 0 || ray.from.y <= height) return {};
  const double t = (height - ray.from.y) / ray.along.y;
  if (!inside(ray.from + t * ray.along)) return {};
  return Hit{t, {0, 1, 0}, 0};
}

std::optional<Hit> meet_cylinder(const Piece& p, const Ray& ray) {
  const Vec3 away = ray.from - p.base, d = ray.along;
  const auto inside = [&](Vec3 at) {
    const double x = at.x - p.base.x, z = at.z - p.base.z;
    return x * x + z * z < p.radius * p.radius;
  };
  if (auto lid = meet_lid(p.height, ray, inside)) return lid;
  const auto t = near_root(d.x * d.x + d.z * d.z, away.x * d.x + away.z * d.z,
                           away.x * away.x + away.z * away.z - p.radius * p.radius);
  if (!t) return {};
  const Vec3 at = away + *t * d;
  if (at.y < 0 || at.y > p.height) return {};
  return Hit{*t, {at.x / p.radius, 0, at.z / p.radius}, 0};
}

/// Turns a vector into the box's axes (+1) or back (-1).
Vec3 turned(const Piece& p, Vec3 v, double sign) {
  const double s = sign * p.sine;
  return {p.cosine * v.x + s * v.z, v.y, p.cosine * v.z - s * v.x};
}

/// By slabs: the box is met where the ray has entered all three.
std::optional<Hit> meet_box(const Piece& p, const Ray& ray) {
  const Vec3 from = turned(p, ray.from - p.base, 1), along = turned(p, ray.along, 1);
  const Vec3 low{-p.half_x, 0, -p.half_z}, high{p.half_x, p.height, p.half_z};
  double enter = kMinT, leave = INFINITY;
  Vec3 normal{};
  for (int axis = 0; axis < 3; ++axis) {
    const double d = axis_of(along, axis), o = axis_of(from, axis);
    const double least = axis_of(low, axis), most = axis_of(high, axis);
    if (d == 0 && least <= o && o <= most) continue;  // parallel to these two faces, between them
    if (d == 0) return {};
    const double first = ((d > 0 ? least : most) - o) / d;
    const double last = ((d > 0 ? most : least) - o) / d;
    if (first > enter) {
      enter = first;
      normal = unit(axis, d > 0 ? -1 : 1);
    }
    leave = std::min(leave, last);
  }
  if (enter >= leave || dot(normal, normal) == 0) return {};
  return Hit{enter, turned(p, normal, -1), 0};
}

Piece draw_piece(Rng& rng) {
  Piece p;
  p.form = static_cast<Piece::Form>(rng.below(3));
  p.albedo = draw_albedo(rng);
  p.radius = rng.uniform(0.15, 0.55);
  p.height = p.form == Piece::Form::sphere ? 2 * p.radius : rng.uniform(0.3, 1.6);
  p.half_x = rng.uniform(0.15, 0.7);
  p.half_z = rng.uniform(0.15, 0.5);
  const double turn = rng.uniform(0, M_PI);
  p.cosine = std::cos(turn);
  p.sine = std::sin(turn);
  if (p.form == Piece::Form::box) p.radius = std::hypot(p.half_x, p.half_z);
  return p;
}

}  // namespace

std::optional<Hit> Piece::meet(const Ray& ray) const {
  switch (form) {
    case Form::sphere:
      return meet_sphere(*this, ray);
    case Form::box:
      return meet_box(*this, ray);
    default:
      return meet_cylinder(*this, ray);
  }
}

RoomScene::RoomScene(Rng& rng) {
  size_ = {rng.uniform(3, 8), rng.uniform(2.4, 3), rng.uniform(3, 8)};
  for (Albedo& wall : walls_) wall = draw_albedo(rng);
  constexpr std::array<int, 4> kUpright{0, 1, 4, 5};
  checkered_ = kUpright[static_cast<std::size_t>(rng.below(4))];
  checker_side_ = rng.uniform(0.3, 0.6);
  light_ = {rng.uniform(0.2, 0.8) * size_.x, size_.y - 0.1, rng.uniform(0.2, 0.8) * size_.z};
  place_camera(rng);
  furnish(rng);
}

/// At eye level, half a metre from the walls or more, in any direction and almost level.
void RoomScene::place_camera(Rng& rng) {
  constexpr double kMargin = 0.5;
  camera_ = {rng.uniform(kMargin, size_.x - kMargin), rng.uniform(1.4, 1.6),
             rng.uniform(kMargin, size_.z - kMargin)};
  const double turn = rng.uniform(0, 2 * M_PI), tilt = rng.uniform(-0.2, 0.05);
  forward_ = {std::sin(turn) * std::cos(tilt), std::sin(tilt), std::cos(turn) * std::cos(tilt)};
  right_ = {std::cos(turn), 0, -std::sin(turn)};
  down_ = {std::sin(turn) * std::sin(tilt), -std::cos(tilt), std::cos(turn) * std::sin(tilt)};
}

/// 2 to 6 pieces, inside the room and not at the camera. One that does not fit after some tries is
/// left out; the camera's corner of a small room may be the only free one.
void RoomScene::furnish(Rng& rng) {
  constexpr double kClear = 0.6;  // metres around the camera
  constexpr int kTries = 20;
  const std::int64_t wanted = 2 + rng.below(5);
  for (std::int64_t i = 0; i < wanted; ++i) {
    Piece piece = draw_piece(rng);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      piece.base = {rng.uniform(piece.radius, size_.x - piece.radius), 0,
                    rng.uniform(piece.radius, size_.z - piece.radius)};
      const double away = std::hypot(piece.base.x - camera_.x, piece.base.z - camera_.z);
      if (away < piece.radius + kClear) continue;
      pieces_.push_back(piece);
      break;
    }
  }
}

Ray RoomScene::ray(double x, double y) const {
  constexpr double kScale = 2 * kHalfWidth;
  return {camera_, forward_ + kScale * x * right_ + kScale * y * down_};
}

/// The room from inside: the first of the six planes that the ray leaves through.
Hit RoomScene::meet_walls(const Ray& ray) const {
  Hit hit{INFINITY, {}, 0};
  for (int axis = 0; axis < 3; ++axis) {
    const double d = axis_of(ray.along, axis);
    if (d == 0) continue;
    const double plane = d > 0 ? axis_of(size_, axis) : 0;
    const double t = (plane - axis_of(ray.from, axis)) / d;
    if (t < hit.t) hit = {t, unit(axis, d > 0 ? -1 : 1), 2 * axis + (d > 0 ? 1 : 0)};
  }
  return hit;
}

Albedo RoomScene::wall_albedo(const Hit& hit, Vec3 point) const {
  Albedo albedo = walls_[static_cast<std::size_t>(hit.face)];
  if (hit.face != checkered_) return albedo;
  const double along = hit.face < 2 ? point.z : point.x;
  const double squares = std::floor(along / checker_side_) + std::floor(point.y / checker_side_);
  if (std::fmod(squares, 2) != 0) {
    for (double& channel : albedo) channel *= 0.4;
  }
  return albedo;
}

/// Lambert's law with one light, and an ambient share.
RoomScene::Seen RoomScene::look(const Ray& ray) const {
  Hit nearest = meet_walls(ray);
  const Piece* piece = nullptr;
  for (const Piece& each : pieces_) {
    const auto hit = each.meet(ray);
    if (!hit || hit->t >= nearest.t) continue;
    nearest = *hit;
    piece = &each;
  }
  const Vec3 point = ray.from + nearest.t * ray.along;
  const double cosine = dot(nearest.normal, scaled_to_unit(light_ - point));
  const double light = kAmbient + (1 - kAmbient) * std::max(cosine, 0.0);
  Albedo color = piece != nullptr ? piece->albedo : wall_albedo(nearest, point);
  for (double& channel : color) channel *= light;
  return {nearest.t, color};
}

}  // namespace fovea::rooms
