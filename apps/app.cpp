// The only place where exceptions become exit codes.
#include "apps/app.h"

#include <csignal>
#include <iostream>
#include <new>

#include "data/loading/loader.h"
#include "settings/options.h"

namespace fovea {

int run_app(int argc, char** argv, int (*body)(int argc, char** argv)) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an error of the write
  try {
    return body(argc, argv);
  } catch (const HelpRequest& help) {
    std::cout << help.text;
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << " (--help lists the settings)\n";
    return 2;
  } catch (const TooManyBadImages& error) {
    std::cerr
        << "error: " << error.what()
        << " (--on-bad-image skip goes on without them; training's --verify-data names all)\n";
    return 1;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory; a smaller --batch-size needs less\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace fovea
