// Applies the steps of a pipeline in order.
#include "data/pipeline.h"

#include <utility>

namespace fovea {
namespace {

Sample run(const std::vector<Pipeline::Step>& steps, Sample sample, Rng& rng) {
  for (const Pipeline::Step& step : steps) sample = step(std::move(sample), rng);
  return sample;
}

}  // namespace

Sample Pipeline::place(Sample sample, Rng& rng) const { return run(steps, std::move(sample), rng); }

Sample Pipeline::vary(Sample sample, Rng& rng) const {
  return run(variations, std::move(sample), rng);
}

Sample Pipeline::apply(Sample sample, Rng& rng) const {
  return vary(place(std::move(sample), rng), rng);
}

Pipeline::Step color_step(std::function<Image(Image, Rng&)> change) {
  return [change = std::move(change)](Sample sample, Rng& rng) {
    sample.image = change(std::move(sample.image), rng);
    return sample;
  };
}

Pipeline::Step geometry_step(std::function<std::vector<Geometry>(ImageSize, Rng&)> draw) {
  return [draw = std::move(draw)](Sample sample, Rng& rng) {
    const std::vector<Geometry> moves = draw(sample.image.size(), rng);
    return moved(std::move(sample), moves);
  };
}

Pipeline::Step sometimes(double probability, Pipeline::Step step) {
  return [probability, step = std::move(step)](Sample sample, Rng& rng) {
    if (rng.uniform() < probability) return step(std::move(sample), rng);
    return sample;  // a move, which a conditional expression would not do
  };
}

}  // namespace fovea
