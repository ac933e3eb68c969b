// Every public op.
#pragma once

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/dropout.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/mlp.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/relative.h"
#include "ops/resize.h"
#include "ops/softmax.h"
#include "ops/view.h"
