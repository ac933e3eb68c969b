// The program's own, under a name that fovea has too.
#pragma once

namespace consumer {
inline constexpr const char* kGreeting = "seen from outside";
}
