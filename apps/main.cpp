// The main function of every program. FOVEA_PROGRAM is run_NAME, for a name in
// cmake/programs.txt: `export` alone would be a keyword.
#include "apps/common/app.h"
#include "engine/base/program_call.h"

namespace fovea::programs {
int FOVEA_PROGRAM(int argc, char** argv);  // in the program's own file
}

int main(int argc, char** argv) {
  fovea::call_programs_by("./run");  // `fovea` changes that
  return fovea::run_app(argc, argv, fovea::programs::FOVEA_PROGRAM);
}
