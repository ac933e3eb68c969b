// Configuration of how OpenMP threads wait for work.
#pragma once

namespace fovea {

/// Makes idle threads sleep early, unless the environment configures waiting (OMP_WAIT_POLICY,
/// GOMP_SPINCOUNT, KMP_BLOCKTIME). By default they spin; next to another busy program they then
/// often displace the one thread that has work, and a step takes many times as long. May restart
/// the program, because libgomp reads the environment before main(). Call it first in main().
void limit_openmp_spinning(char** argv);

}  // namespace fovea
