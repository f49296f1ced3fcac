#include "heatskin/pipeline/gallery_page.h"

#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "heatskin/base/plural.h"

namespace heatskin {
namespace {

// Names of variables begin with a capital: check_messages.py takes others for options of the command line.
constexpr std::string_view kGalleryStyle = R"css(
:root { color-scheme: light dark; --Ground: #f6f5f2; --Card: #fff; --Ink: #1d1c1a; --Faint: #65625c; --Line: #e3e0da; --Accent: #a84b08; --Bad: #a3201d; }
@media (prefers-color-scheme: dark) { :root { --Ground: #161513; --Card: #201f1c; --Ink: #ece9e3; --Faint: #a19c92; --Line: #34322d; --Accent: #f0913f; --Bad: #ff9089; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--Ground); color: var(--Ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); line-height: 1.15; letter-spacing: -.02em; margin: 0 0 4px; overflow-wrap: anywhere; }
main > p, #count { color: var(--Faint); margin: 0 0 14px; }
.tools { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: end; padding: 10px 0; background: var(--Ground); border-bottom: 1px solid var(--Line); margin-bottom: 16px; }
.tools label { display: grid; color: var(--Faint); font-size: .82rem; flex: 0 1 220px; }
.tools label:first-child { flex: 1 1 220px; }
input, select, button { font: inherit; color: var(--Ink); background: var(--Card); border: 1px solid var(--Line); border-radius: 8px; padding: 6px 10px; min-height: 40px; min-width: 0; width: 100%; }
.tools button { width: auto; cursor: pointer; }
:focus-visible { outline: 2px solid var(--Accent); outline-offset: 2px; }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 230px), 1fr)); }
.card { background: var(--Card); border: 1px solid var(--Line); border-radius: 12px; overflow: hidden; display: flex; flex-direction: column; content-visibility: auto; contain-intrinsic-size: auto 440px; }
.card img, .card .none { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; padding: 6px; }
.card .none { display: grid; place-items: center; color: var(--Bad); font-size: 2.6rem; background: color-mix(in srgb, var(--Bad) 7%, transparent); }
.card h2 { font-size: 1rem; margin: 0; padding: 8px 14px 2px; overflow-wrap: anywhere; line-height: 1.3; }
.card .error { color: var(--Bad); margin: 0; padding: 2px 14px 10px; font-size: .88rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto auto; gap: 1px 12px; margin: 0; padding: 4px 14px 10px; font-size: .86rem; }
dt { color: var(--Faint); } dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dt.sorted, dd.sorted { color: var(--Accent); font-weight: 600; }
.links { display: flex; gap: 16px; padding: 8px 14px 12px; margin-top: auto; border-top: 1px solid var(--Line); font-size: .9rem; }
a { color: var(--Accent); }
footer { margin-top: 36px; color: var(--Faint); font-size: .85rem; }
)css";

constexpr std::string_view kGalleryScript = R"js(
const list = document.querySelector('ul'), cards = [...list.children], search = document.getElementById('search');
const sort = document.getElementById('sort'), order = document.getElementById('order'), count = document.getElementById('count');
const value = (card, key) => key === 'name' ? card.dataset.name : key === 'error' ? Number(card.dataset.error) :
  (([...card.querySelectorAll('dd')].find((dd) => dd.dataset.key === key) || {dataset: {}}).dataset.value);
const names = new Intl.Collator('en', {numeric: true});
let falling = false;
function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), key = sort.value;
  let shown = 0;
  for (const card of cards) {
    const text = card.dataset.text ??= card.textContent.toLowerCase();
    card.hidden = !words.every((word) => text.includes(word));
    shown += card.hidden ? 0 : 1;
  }
  const text = key === 'name', rows = cards.map((card, i) => ({card, i, v: value(card, key)}));
  const sign = falling ? -1 : 1;
  rows.sort((a, b) => {
    if (text) return sign * names.compare(a.v, b.v) || a.i - b.i;
    if ((a.v === undefined) !== (b.v === undefined)) return a.v === undefined ? 1 : -1;  // what has no such figure comes last
    return sign * (Number(a.v) - Number(b.v)) || a.i - b.i;
  });
  list.append(...rows.map(({card}) => card));
  for (const part of list.querySelectorAll('dt, dd')) part.classList.toggle('sorted', part.dataset.key === key);
  count.textContent = shown === cards.length ? `${cards.length} shown` : `${shown} of ${cards.length} shown`;
  order.textContent = falling ? (text ? 'Z to A' : 'Largest first') : (text ? 'A to Z' : 'Smallest first');
  try { history.replaceState(null, '', `#${new URLSearchParams({q: search.value, sort: key, falling: Number(falling)})}`); } catch { /* no history for pages from disk */ }
}
const from = new URLSearchParams(location.hash.slice(1));
search.value = from.get('q') || '';
if ([...sort.options].some((option) => option.value === from.get('sort'))) sort.value = from.get('sort');
falling = from.get('falling') === '1';
search.addEventListener('input', show);
sort.addEventListener('change', () => { falling = sort.value !== 'name'; show(); });
order.addEventListener('click', () => { falling = !falling; show(); });
document.querySelector('.tools').hidden = false;
show();
)js";

/// For texts and attributes in double quotes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (code >= 0x20 && code != 0x7f)
      out += c;
    else
      out += ' ';
  }
  return out;
}

std::string numberText(double value) {
  return fmt::format("{:.9g}", value);
}

}  // namespace

std::string relativeLink(const std::filesystem::path& page, const std::filesystem::path& to) {
  if (to.empty()) return {};
  std::error_code problem;
  const auto folder = std::filesystem::absolute(page, problem).lexically_normal().parent_path();
  const auto target = std::filesystem::absolute(to, problem).lexically_normal();
  const std::string path = target.lexically_relative(folder).generic_string();
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string galleryHtml(std::string_view title, std::span<const GalleryCard> cards) {
  std::size_t broken = 0;
  // In the order in which figures first appear.
  std::vector<std::pair<std::string, std::string>> keys;
  for (const GalleryCard& card : cards) {
    broken += card.error.empty() ? 0 : 1;
    for (const GalleryFigure& figure : card.figures) {
      bool known = false;
      for (const auto& [key, label] : keys)
        known = known || key == figure.key;
      if (!known) keys.emplace_back(figure.key, figure.label);
    }
  }
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" "
      "content=\"heatskin\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<p>{2}{3}</p>\n",
      escaped(title), kGalleryStyle, plural(cards.size() - broken, "product", "products"),
      broken > 0 ? fmt::format(", {} cannot be shown", plural(broken, "file", "files")) : std::string());
  out +=
      "<div class=\"tools\" hidden><label>Search <input id=\"search\" type=\"search\" "
      "placeholder=\"Names and figures\"></label><label>Sort by <select id=\"sort\"><option "
      "value=\"name\">name</option>";
  for (const auto& [key, label] : keys)
    out += fmt::format("<option value=\"{}\">{}</option>", escaped(key), escaped(label));
  if (broken > 0) out += "<option value=\"error\">problems</option>";
  out +=
      "</select></label><button id=\"order\" type=\"button\">A to Z</button></div>\n<p id=\"count\" "
      "role=\"status\"></p>\n<ul>\n";
  for (const GalleryCard& card : cards) {
    const std::string name = escaped(card.name);
    out += fmt::format("<li class=\"card\" data-name=\"{}\" data-error=\"{}\">", name,
                       card.error.empty() ? 0 : 1);
    if (card.picture.empty())
      out += "<div class=\"none\" aria-hidden=\"true\">!</div>";
    else
      out += fmt::format("<img loading=\"lazy\" alt=\"{}\" src=\"{}\">", name, escaped(card.picture));
    out += fmt::format("<h2>{}</h2>", name);
    if (!card.error.empty()) out += fmt::format("<p class=\"error\">{}</p>", escaped(card.error));
    if (!card.figures.empty()) {
      out += "<dl>";
      for (const GalleryFigure& figure : card.figures) {
        const bool number = std::isfinite(figure.value);
        out +=
            fmt::format("<dt data-key=\"{0}\">{1}</dt><dd data-key=\"{0}\"{2}>{3}</dd>", escaped(figure.key),
                        escaped(figure.label),
                        number ? fmt::format(" data-value=\"{}\"", numberText(figure.value)) : std::string(),
                        escaped(figure.text));
      }
      out += "</dl>";
    }
    if (!card.link.empty() || !card.report.empty()) {
      out += "<div class=\"links\">";
      if (!card.link.empty())
        out += fmt::format("<a href=\"{}\" aria-label=\"File of {}\">File</a>", escaped(card.link), name);
      if (!card.report.empty())
        out +=
            fmt::format("<a href=\"{}\" aria-label=\"Report of {}\">Report</a>", escaped(card.report), name);
      out += "</div>";
    }
    out += "</li>\n";
  }
  out += fmt::format(
      "</ul>\n<footer>Made by heatskin. Files open in any glTF "
      "viewer.</footer>\n</main>\n<script>{}</script>\n</body>\n</html>\n",
      kGalleryScript);
  return out;
}

}  // namespace heatskin
