// Style sheet of a run's report, for light and dark mode, and a script that reports to a test
// whether all pictures loaded.
#pragma once

#include <string_view>

namespace fovea {

inline constexpr std::string_view kPageStyle = R"(
:root {
  --back: #f6f7f9; --card: #ffffff; --text: #1c2430; --soft: #5b6675; --line: #dde2e8;
  --link: #005a9c; --wrong: #b2182b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14181d; --card: #1e242b; --text: #e6eaef; --soft: #a3adb9; --line: #38414c;
    --link: #7cc0f2; --wrong: #ff9a8f;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
header, main { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; }
h1 { font-size: 1.7rem; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 0 0 12px; }
h3 { font-size: 1rem; margin: 20px 0 6px; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0; padding: 0; }
a { color: var(--link); }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  margin: 20px 0; padding: 20px; scroll-margin-top: 12px;
}
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px;
  margin: 0 0 18px; }
.tiles div { border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tiles dt { color: var(--soft); font-size: 0.85rem; }
.tiles dd { margin: 0; font-size: 1.35rem; font-weight: 600; white-space: nowrap; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.figure { background: #ffffff; border-radius: 8px; padding: 8px; overflow-x: auto;
  text-align: center; margin: 8px 0 16px; }
.figure img { max-width: 100%; height: auto; }
.figure img.sheet { width: 100%; max-width: 1000px; }
.figure img.pixels { width: auto; max-width: none; }
.pixels { image-rendering: pixelated; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-variant-numeric: tabular-nums; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 500; }
#settings table { table-layout: fixed; min-width: 560px; }
#settings thead th:first-child { width: 14em; }
#settings thead th:nth-child(2) { width: 16em; }
#settings td { overflow-wrap: anywhere; }
#settings td:last-child { color: var(--soft); }
summary { cursor: pointer; color: var(--link); margin-bottom: 8px; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 16px; }
figure { margin: 0; }
figure img { width: 100%; display: block; border-radius: 6px; }
figcaption { font-size: 0.85rem; margin-top: 4px; overflow-wrap: anywhere; }
.wrong { color: var(--wrong); }
.note { color: var(--soft); font-style: italic; }
@media print { nav { display: none; } section { break-inside: avoid; } }
)";

inline constexpr std::string_view kPageScript = R"(
addEventListener("load", () => {
  const images = Array.from(document.images);
  const shown = images.filter((image) => image.complete && image.naturalWidth > 0).length;
  document.documentElement.dataset.images = shown + " of " + images.length;
});
)";

}  // namespace fovea
