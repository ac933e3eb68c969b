// Declarations of the CUDA convolution kernels.
#pragma once

#include "ops/conv/call.h"

namespace fovea::ops::cuda {

void conv_forward(const DenseConvCall& c);
void conv_input_gradient(const DenseConvCall& c);
void conv_weight_gradient(const DenseConvCall& c);
void channel_sums(const ChannelSumsCall& c);
void depthwise_forward(const DepthwiseCall& c);
void depthwise_backward(const DepthwiseCall& c);
void tokens_forward(const DepthwiseTokensCall& c);
void tokens_sums(const DepthwiseTokensSumsCall& c);

}  // namespace fovea::ops::cuda
