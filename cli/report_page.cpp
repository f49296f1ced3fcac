#include "cli/report_page.h"

#include <fmt/format.h>

#include "heatskin/base/base64.h"

namespace heatskin::cli {
namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark;
  --ground: #f6f5f2; --card: #ffffff; --ink: #1d1c1a; --faint: #6d6a64; --line: #e3e0da; --accent: #b8540b; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #161513; --card: #201f1c; --ink: #ece9e3; --faint: #9b968c; --line: #34322d; --accent: #f0913f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: clamp(1.8rem, 4vw, 2.6rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 8px; }
h2 { font-size: 1.25rem; margin: 44px 0 4px; }
p { max-width: 68ch; margin: 0 0 12px; color: var(--faint); }
.tiles { display: grid; grid-template-columns: repeat(var(--columns), 1fr); gap: 12px; margin: 24px 0; }
@media (max-width: 860px) { .tiles { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); } }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 14px 16px; }
.tile b { display: block; font-size: 1.35rem; white-space: nowrap; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tile span { color: var(--faint); font-size: 0.85rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); gap: 16px;
  margin: 16px 0; align-items: start; }
figure, .card { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  overflow: hidden; }
figure.wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; }
figure img { display: block; width: 100%; height: auto; }
.cells { display: grid; gap: 10px; padding: 12px 12px 0; }
.cells span { display: block; text-align: center; color: var(--faint); font-size: 0.8rem; padding: 2px 0 4px; }
@media (max-width: 640px) { .cells { grid-template-columns: repeat(2, 1fr) !important; } }
.legend { grid-column: 1 / -1; max-width: 420px; font-size: 0.8rem; color: var(--faint);
  font-variant-numeric: tabular-nums; }
.legend i { display: block; height: 10px; border-radius: 3px; }
.legend div { position: relative; height: 1.5em; }
.legend div span { position: absolute; transform: translateX(-50%); }
.legend div span:first-child { transform: none; }
.legend div span:last-child { transform: translateX(-100%); }
figcaption { padding: 10px 16px 12px; color: var(--faint); font-size: 0.9rem; }
.turn { touch-action: pan-y; cursor: grab; user-select: none; outline-offset: -3px; }
.turn:active { cursor: grabbing; }
.turn img { display: none; pointer-events: none; }
.turn img.on { display: block; }
.card { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; }
caption { text-align: left; font-weight: 600; padding: 14px 16px 6px; }
td { padding: 7px 16px; border-top: 1px solid var(--line); vertical-align: top; }
td:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.figures { grid-column: 1 / -1; }
.figures td, .figures th { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.figures th { font-weight: 600; padding: 4px 16px 7px; color: var(--faint); }
.figures td:first-child, .figures th:first-child { text-align: left; }
footer { margin-top: 48px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--faint);
  font-size: 0.85rem; }
a { color: var(--accent); }
)css";

constexpr std::string_view kScript = R"js(
for (const turn of document.querySelectorAll('.turn')) {
  const frames = [...turn.querySelectorAll('img')];
  let place = 0, from = null;
  const show = p => {
    place = ((p % frames.length) + frames.length) % frames.length;
    frames.forEach((f, i) => f.classList.toggle('on', i === Math.floor(place)));
  };
  turn.addEventListener('pointerdown', e => { from = {x: e.clientX, place}; turn.setPointerCapture(e.pointerId); });
  turn.addEventListener('pointermove', e => {
    if (from) show(from.place - (e.clientX - from.x) / turn.clientWidth * frames.length);
  });
  for (const end of ['pointerup', 'pointercancel']) turn.addEventListener(end, () => { from = null; });
  turn.addEventListener('keydown', e => {
    if (e.key === 'ArrowLeft') show(Math.floor(place) + 1);
    if (e.key === 'ArrowRight') show(Math.floor(place) - 1);
  });
}
)js";

std::string image(std::span<const std::uint8_t> bytes, std::string_view alt,
                  std::string_view css_class = {}) {
  const bool webp = !bytes.empty() && bytes[0] == 'R';  // RIFF; PNG begins otherwise
  return fmt::format(R"(<img{} alt="{}" src="data:image/{};base64,{}">)",
                     css_class.empty() ? "" : fmt::format(R"( class="{}")", css_class), escapeHtml(alt),
                     webp ? "webp" : "png", base64(bytes));
}

}  // namespace

std::string escapeHtml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

void ReportPage::openGrid() {
  if (!in_grid_) body_ += "<div class=\"grid\">\n";
  in_grid_ = true;
}

void ReportPage::closeGrid() {
  if (in_grid_) body_ += "</div>\n";
  in_grid_ = false;
}

void ReportPage::tiles(const Rows& rows) {
  closeGrid();
  // One row, or two that are equally long.
  const std::size_t columns = rows.size() <= 6 ? rows.size() : (rows.size() + 1) / 2;
  body_ += fmt::format("<div class=\"tiles\" style=\"--columns: {}\">\n", columns);
  for (const auto& [label, value] : rows) {
    body_ += fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", escapeHtml(value),
                         escapeHtml(label));
  }
  body_ += "</div>\n";
}

void ReportPage::section(std::string_view title, std::string_view text) {
  closeGrid();
  body_ += fmt::format("<h2>{}</h2>\n", escapeHtml(title));
  if (!text.empty()) body_ += fmt::format("<p>{}</p>\n", escapeHtml(text));
}

void ReportPage::gallery(const std::vector<Cell>& cells, int columns, std::string_view caption) {
  openGrid();
  body_ += fmt::format(
      "<figure class=\"wide\"><div class=\"cells\" style=\"grid-template-columns: repeat({}, 1fr)\">",
      columns);
  for (const Cell& cell : cells) {
    const bool turns = cell.images.size() > 1;
    body_ += turns ? fmt::format("<div><div class=\"turn\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">",
                                 escapeHtml(cell.label))
                   : "<div>";
    for (std::size_t i = 0; i < cell.images.size(); ++i) {
      const std::string alt = turns ? fmt::format("frame {} of {}", i + 1, cell.images.size()) : cell.label;
      body_ += image(cell.images[i], alt, turns && i == 0 ? "on" : "");
    }
    body_ += fmt::format("{}<span>{}</span></div>", turns ? "</div>" : "", escapeHtml(cell.label));
  }
  body_ += fmt::format("</div><figcaption>{}</figcaption></figure>\n", escapeHtml(caption));
}

void ReportPage::legend(const std::vector<std::string>& colors,
                        const std::vector<std::pair<double, std::string>>& ticks) {
  openGrid();
  body_ +=
      fmt::format("<div class=\"legend\"><i style=\"background: linear-gradient(to right, {})\"></i><div>",
                  fmt::join(colors, ", "));
  for (const auto& [place, text] : ticks)
    body_ += fmt::format("<span style=\"left: {:g}%\">{}</span>", 100 * place, escapeHtml(text));
  body_ += "</div></div>\n";
}

void ReportPage::drawing(std::string_view svg, std::string_view caption, bool wide) {
  openGrid();
  body_ += fmt::format("<figure{}>{}<figcaption>{}</figcaption></figure>\n", wide ? " class=\"wide\"" : "",
                       svg, escapeHtml(caption));
}

void ReportPage::table(std::string_view caption, const Rows& rows) {
  openGrid();
  body_ += fmt::format("<div class=\"card\"><table><caption>{}</caption>\n", escapeHtml(caption));
  for (const auto& [label, value] : rows)
    body_ += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escapeHtml(label), escapeHtml(value));
  body_ += "</table></div>\n";
}

void ReportPage::figures(std::string_view caption, const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
  openGrid();
  body_ += fmt::format("<div class=\"card figures\"><table><caption>{}</caption>\n<tr>", escapeHtml(caption));
  for (const std::string& name : header)
    body_ += fmt::format("<th scope=\"col\">{}</th>", escapeHtml(name));
  body_ += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    body_ += "<tr>";
    for (const std::string& value : row)
      body_ += fmt::format("<td>{}</td>", escapeHtml(value));
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

void ReportPage::footer(std::string_view text) {
  footer_ = text;
}

std::string ReportPage::html() const {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<p>{2}</p>\n{3}{4}"
      "<footer>{5}</footer>\n</main>\n<script>{6}</script>\n</body>\n</html>\n",
      escapeHtml(title_), kStyle, escapeHtml(lead_), body_, in_grid_ ? "</div>\n" : "", escapeHtml(footer_),
      kScript);
}

}  // namespace heatskin::cli
