// ./run gradcheck [--device D] [--entries N] [--directional] [--fail-fast] [FILTER]: every op's
// derivative against central differences, then those of layers and models, as a table; FILTER keeps
// those with that text in their name. Exits 1 when a check fails or a model uses an op that no row
// covers, with --fail-fast at once.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "tests/gradcheck/suite.h"

using namespace fovea::tests;

namespace {

std::string number(double error) {
  if (error < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", error);
  return text;
}

void print_row(const CheckRow& row) {
  std::printf("%-20s %-30.30s %-30.30s %7lld %9s %9s %9s  %s\n", row.op.c_str(), row.what.c_str(),
              row.shapes.c_str(), static_cast<long long>(row.entries),
              number(row.f64_error).c_str(), number(row.f32_error).c_str(),
              number(row.bf16_error).c_str(), row.failure.empty() ? "PASS" : "FAIL");
  if (!row.failure.empty()) std::printf("    %s\n", row.failure.c_str());
  std::fflush(stdout);
}

struct Totals {
  int rows = 0, failed = 0;
  long long entries = 0;
  bool fail_fast = false;

  void count(const CheckRow& row) {
    print_row(row);
    ++rows;
    failed += !row.failure.empty();
    entries += row.entries;
    if (failed > 0 && fail_fast) std::exit(1);
  }
};

/// Ops on some model's tape without a row of their own.
int report_coverage(const std::set<std::string>& covered) {
  int missing = 0;
  for (const std::string& op : ops_used_by_models()) {
    if (covered.contains(op)) continue;
    std::printf("FAIL  op '%s' is used by a registered model, but no row of the table checks it\n",
                op.c_str());
    ++missing;
  }
  return missing;
}

int run(int argc, char** argv) {
  Totals totals;
  CheckOptions checks;
  std::string device = "cpu";
  fovea::CommandSpec spec;
  spec.name = "gradcheck";
  spec.description = "Checks every op's derivative against central differences.";
  spec.arguments = "run only the ops and models with this text in their name";
  fovea::FieldGroup group(spec.fields, "Checks");
  group.add("fail-fast", &totals.fail_fast, "stop at the first failure");
  group.add("device", &device, "cpu, cuda or cuda:N");
  group.number("entries", &checks.most_entries,
               "derivatives to check per input: the largest and this many at random; 0: all",
               {0, 1e9});
  group.add("directional", &checks.along_a_direction,
            "check one derivative of each row, along a random direction in all its inputs");
  const std::vector<std::string> arguments = fovea::parse_into_fields(argc, argv, spec);
  if (arguments.size() > 1) throw fovea::UsageError("gradcheck: expected at most one name");
  const std::string filter = arguments.empty() ? "" : arguments.front();
  checks.device = fovea::parse_device(device);
  fovea::start_computing(checks.device);
  std::printf("%-20s %-30s %-30s %7s %9s %9s %9s\n", "op", "case", "shapes", "entries", "f64",
              "f32", "bf16");
  std::set<std::string> covered;
  for (const OpCase& c : op_cases()) {
    covered.insert(c.op);
    if (c.op.find(filter) != std::string::npos) totals.count(check_case(c, checks));
  }
  check_models(checks, filter, [&](const CheckRow& row) { totals.count(row); });
  if (filter.empty()) totals.failed += report_coverage(covered);
  std::printf("\n%d checks, %lld derivatives against central differences, %d failed\n", totals.rows,
              totals.entries, totals.failed);
  return totals.failed == 0 && totals.rows > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
