#include "unet/checkpoint/sources.h"

bool sources_prediction(const struct checkpoint_sources *sources, enum prediction *prediction) {
  static const enum prediction chosen[] = {
      [PREDICTION_EPSILON] = PREDICT_EPSILON, [PREDICTION_V] = PREDICT_V, [PREDICTION_SAMPLE] = PREDICT_SAMPLE};
  if (sources->prediction == PREDICTION_AUTO)
    return false;
  *prediction = chosen[sources->prediction];
  return true;
}
