// The main function of every program. FOVEA_PROGRAM is its name, see cmake/programs.txt.
#include "apps/common/app.h"

namespace fovea::programs {
int FOVEA_PROGRAM(int argc, char** argv);  // in the program's own file
}

int main(int argc, char** argv) {
  return fovea::run_app(argc, argv, fovea::programs::FOVEA_PROGRAM);
}
