// fovea as a library in one header: #include <fovea/fovea.h> and link fovea::train. It includes the
// main headers of each module; include others individually, e.g. <fovea/report/inspect/measures.h>.
#pragma once

// base: errors
#include "engine/base/error.h"

// engine: tensors and autograd
#include "engine/autograd.h"
#include "engine/completion.h"
#include "engine/foreign_memory.h"
#include "engine/formats/safetensors.h"
#include "engine/gradcheck.h"
#include "engine/node.h"
#include "engine/parallel.h"
#include "engine/profile.h"
#include "engine/random.h"
#include "engine/rng.h"
#include "engine/tape_watch.h"
#include "engine/tensor.h"
#include "engine/values.h"

// ops: all ops
#include "ops/ops.h"

// data: data sets, augmentation and batches
#include "data/augment/mixup.h"
#include "data/augment/training_pipeline.h"
#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "data/image.h"
#include "data/loading/loader.h"
#include "data/loading/tensor_batches.h"
#include "data/sample.h"

// models: by name, from files, or from layers; json holds their settings
#include <nlohmann/json.hpp>

#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/store_file.h"
#include "models/classifier.h"
#include "models/layers/attention.h"
#include "models/layers/block.h"
#include "models/layers/class_head.h"
#include "models/layers/conv_blocks.h"
#include "models/layers/conv_norm.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/mlp.h"
#include "models/layers/norm.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pos_embed.h"
#include "models/model.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/summary.h"

// optim: optimizers and schedules
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/layer_decay.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

// train: whole runs and their parts
#include "train/loop/task.h"
#include "train/loop/trainer.h"
#include "train/run/optimizer_file.h"
#include "train/settings/config.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"
#include "train/tasks/classifier_evaluation.h"
