// The CPU convolution kernels and the files that define them; cpu_dense.cpp defines the table.
#pragma once

#include "ops/conv/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::conv {

void forward(const DenseConvCall& call);                // cpu_dense.cpp
void input_gradient(const DenseConvCall& call);         // cpu_dense_backward.cpp
void weight_gradient(const DenseConvCall& call);        // cpu_dense_backward.cpp
void channel_sums(const ChannelSumsCall& call);         // cpu_depthwise.cpp
void depthwise_forward(const DepthwiseCall& call);      // cpu_depthwise.cpp
void depthwise_backward(const DepthwiseCall& call);     // cpu_depthwise.cpp
void tokens_forward(const DepthwiseTokensCall& call);   // cpu_tokens.cpp
void tokens_sums(const DepthwiseTokensSumsCall& call);  // cpu_tokens.cpp

}  // namespace fovea::ops::cpu::FOVEA_ISA::conv
