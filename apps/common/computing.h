// The start of what a program computes.
#pragma once

#include <string>

#include "engine/cpu_isa.h"
#include "engine/device.h"

namespace fovea {

/// Every program that computes calls this with its device, before it computes. Throws, with the
/// reason, unless the device can be used. On the CPU prints a notice that is not empty to stderr:
/// "note: ...", once however often it is called.
void start_computing(Device device, const std::string& notice = isa_notice());

}  // namespace fovea
