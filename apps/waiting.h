// How the threads of OpenMP wait for work.
#pragma once

namespace fovea {

/// Has threads sleep soon after they find nothing to do, unless the environment says how they wait
/// (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). They would otherwise look again and again,
/// and beside another busy program the one thread that has work is often the one that cannot run:
/// a step then takes many times as long. May start the program again, as libgomp reads the
/// environment before main() does. To be called first in main().
void wait_briefly(char** argv);

}  // namespace fovea
