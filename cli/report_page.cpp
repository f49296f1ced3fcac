#include "cli/report_page.h"

#include <algorithm>

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
.legend { max-width: 460px; font-size: 0.8rem; color: var(--faint);
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
.compare .stack { position: relative; max-width: 620px; margin: 12px auto 0; --split: 50%; touch-action: pan-y; user-select: none; }
.compare .stack img { position: absolute; inset: 0; width: 100%; height: 100%; display: none; pointer-events: none; }
.compare .stack img.left, .compare .stack img.right { display: block; }
.compare .stack img.left { clip-path: inset(0 calc(100% - var(--split)) 0 0); }
.compare .stack img.right { clip-path: inset(0 0 0 var(--split)); }
.compare .stack img.left.right { clip-path: none; }
.compare .stack i { position: absolute; top: 0; bottom: 0; left: var(--split); width: 2px; margin-left: -1px; background: var(--accent); pointer-events: none; }
.compare .stack i::after { content: "\2194"; position: absolute; left: -15px; bottom: 8px; width: 32px; height: 32px; border-radius: 50%;
  background: var(--accent); color: var(--card); font: 600 18px/32px system-ui, sans-serif; text-align: center; }
.compare .stack input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: ew-resize; }
.compare .stack:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.compare .choices { display: flex; flex-wrap: wrap; gap: 8px 20px; justify-content: space-between; max-width: 620px; margin: 12px auto 0; padding: 0 4px; font-size: 0.9rem; }
.compare .choices label { color: var(--faint); }
.compare .views { display: flex; flex-wrap: wrap; gap: 6px; justify-content: center; padding: 10px 12px 0; }
.compare .views button { padding: 2px; width: 64px; height: 64px; border: 2px solid transparent; border-radius: 8px; background: none; }
.compare .views button[aria-pressed="true"] { border-color: var(--accent); }
.compare .views img { width: 100%; height: 100%; object-fit: contain; }
button, select { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; padding: 4px 10px; cursor: pointer; min-height: 34px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.page .frame { position: relative; height: min(78vh, 640px); display: grid; place-items: center; background: var(--ground) center / contain no-repeat; }
.page .frame iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; }
.page .frame button { padding: 12px 22px; font-weight: 600; background: var(--card); box-shadow: 0 4px 24px #0004; }
.bars { padding: 2px 16px 14px; display: grid; grid-template-columns: auto 1fr auto; gap: 6px 12px; align-items: center; font-size: 0.92rem; }
.bars i { height: 10px; border-radius: 5px; background: var(--accent); min-width: 2px; }
.bars span:nth-child(3n) { text-align: right; font-variant-numeric: tabular-nums; color: var(--faint); }
.title { font-weight: 600; padding: 14px 16px 6px; margin: 0; color: var(--ink); max-width: none; }
.code { grid-column: 1 / -1; position: relative; }
.code pre { margin: 0; padding: 4px 16px 14px; overflow-x: auto; font: 0.85rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.code pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; }
.code summary { cursor: pointer; }
.code button { margin: 0 16px 12px; font-size: 0.85rem; }
p.note { grid-column: 1 / -1; margin: 0; }
.grid > .legend { margin-bottom: 4px; }
footer { margin-top: 48px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--faint);
  font-size: 0.85rem; }
a { color: var(--accent); }
figure svg [fill="#ffffff"] { fill: var(--card); }
figure svg[fill="#1d1c1a"] { fill: var(--ink); }
figure svg [fill="#6d6a64"] { fill: var(--faint); }
figure svg [stroke="#e3e0da"] { stroke: var(--line); }
figure svg [fill="#b8540b"] { fill: var(--accent); }
figure svg [stroke="#b8540b"] { stroke: var(--accent); }
@media (prefers-color-scheme: dark) { figure svg [stroke="#2563a8"] { stroke: #6ea8e8; } figure svg [fill="#2563a8"] { fill: #6ea8e8; } }
@media (max-width: 640px) { main { padding: 24px 14px 48px; } td, .figures td, .figures th { padding-left: 10px; padding-right: 10px; }
  .card td { overflow-wrap: anywhere; } .figures td { overflow-wrap: normal; } .tile b { font-size: 1.15rem; } }
@media print { .page, .compare .views, .compare .choices, .code button { display: none; } }
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
for (const figure of document.querySelectorAll('.compare')) {
  const stack = figure.querySelector('.stack'), images = [...stack.querySelectorAll('img')], range = stack.querySelector('input');
  const left = figure.querySelector('select.left'), right = figure.querySelector('select.right'), views = figure.querySelector('.views');
  const layers = left.options.length, count = images.length / layers;
  let view = 0;
  const show = () => {
    images.forEach((image, i) => {
      const here = Math.floor(i / layers) === view;
      image.classList.toggle('left', here && i % layers === left.selectedIndex);
      image.classList.toggle('right', here && i % layers === right.selectedIndex);
    });
    [...views.children].forEach((button, i) => button.setAttribute('aria-pressed', String(i === view)));
    range.setAttribute('aria-label', `How much of ${left.value} is seen, the rest is ${right.value}`);
  };
  for (let v = 0; v < count && count > 1; ++v) {
    const button = document.createElement('button'), small = new Image();
    small.src = images[v * layers].src;
    small.alt = images[v * layers].dataset.view;
    button.type = 'button';
    button.title = small.alt;
    button.append(small);
    button.addEventListener('click', () => { view = v; show(); });
    views.append(button);
  }
  range.addEventListener('input', () => stack.style.setProperty('--split', `${range.value}%`));
  for (const select of [left, right]) select.addEventListener('change', show);
  figure.querySelector('.choices').hidden = false;
  show();
}
for (const figure of document.querySelectorAll('.page')) {
  const frame = figure.querySelector('.frame'), button = figure.querySelector('button'), poster = document.querySelectorAll('.compare .stack img')[1];
  if (poster) frame.style.backgroundImage = `url(${poster.src})`;
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const text = figure.querySelector('script').textContent.trim(), bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
      const page = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
      const inner = document.createElement('iframe');
      inner.title = figure.dataset.title;
      inner.allow = 'fullscreen; clipboard-write';
      inner.srcdoc = page;
      frame.style.backgroundImage = 'none';
      frame.replaceChildren(inner);
      inner.focus();
    } catch (error) {
      button.textContent = `This browser cannot start the viewer: ${error.message}`;
    }
  });
}
for (const button of document.querySelectorAll('.code button')) {
  button.addEventListener('click', async () => {
    const pre = button.closest('.code').querySelector('pre');
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = 'Selected: copy with Ctrl-C';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2500);
  });
}
)js";

std::string dataUri(std::span<const std::uint8_t> bytes) {
  const bool webp = !bytes.empty() && bytes[0] == 'R';  // RIFF; PNG begins otherwise
  return fmt::format("data:image/{};base64,{}", webp ? "webp" : "png", base64(bytes));
}

std::string image(std::span<const std::uint8_t> bytes, std::string_view alt,
                  std::string_view css_class = {}) {
  return fmt::format(R"(<img{} alt="{}" src="{}">)",
                     css_class.empty() ? "" : fmt::format(R"( class="{}")", css_class), escapeHtml(alt),
                     dataUri(bytes));
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

void ReportPage::compare(const std::vector<std::string>& layers, const std::vector<ComparedView>& views,
                         double aspect, std::string_view caption) {
  if (layers.empty() || views.empty()) return;
  openGrid();
  const auto choice = [&](std::string_view side, std::size_t chosen) {
    std::string out = fmt::format("<label>{} <select class=\"{}\">", side == "left" ? "Left" : "Right", side);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      out += fmt::format("<option{}>{}</option>", i == chosen ? " selected" : "", escapeHtml(layers[i]));
    }
    return out + "</select></label>";
  };
  const std::size_t second = layers.size() > 1 ? 1 : 0;
  body_ += fmt::format(
      "<figure class=\"wide compare\"><div class=\"choices\" hidden>{}{}</div><div class=\"stack\" "
      "style=\"aspect-ratio: {:g}\">",
      choice("left", 0), choice("right", second), aspect);
  for (std::size_t v = 0; v < views.size(); ++v) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const std::string_view shown = v > 0                   ? ""
                                     : l == 0 && l == second ? "left right"
                                     : l == 0                ? "left"
                                     : l == second           ? "right"
                                                             : "";
      body_ += fmt::format("<img class=\"{}\" alt=\"{}\" data-view=\"{}\" src=\"{}\">\n", shown,
                           escapeHtml(fmt::format("{}, {}", layers[l], views[v].label)),
                           escapeHtml(views[v].label), dataUri(views[v].layers[l]));
    }
  }
  body_ += fmt::format(
      "<i></i><input type=\"range\" min=\"0\" max=\"100\" step=\"0.5\" value=\"50\" aria-label=\"How much of "
      "the left "
      "picture is seen\"></div><div class=\"views\" role=\"group\" aria-label=\"Views\"></div>"
      "<figcaption>{}</figcaption></figure>\n",
      escapeHtml(caption));
}

void ReportPage::embeddedPage(std::span<const std::uint8_t> deflated, std::string_view title,
                              std::string_view caption) {
  openGrid();
  body_ += fmt::format(
      "<figure class=\"wide page\" data-title=\"{}\"><div class=\"frame\"><button type=\"button\">Start the "
      "viewer</button></div><script type=\"text/plain\">{}</script><figcaption>{}</figcaption></figure>\n",
      escapeHtml(title), base64(deflated), escapeHtml(caption));
}

void ReportPage::bars(std::string_view caption, const std::vector<Bar>& bars) {
  openGrid();
  body_ +=
      fmt::format("<div class=\"card\"><p class=\"title\">{}</p><div class=\"bars\">", escapeHtml(caption));
  for (const Bar& bar : bars) {
    body_ += fmt::format("<span>{}</span><i style=\"width: {:.1f}%\"></i><span>{}</span>\n",
                         escapeHtml(bar.name), 100 * std::clamp(bar.share, 0.0, 1.0), escapeHtml(bar.text));
  }
  body_ += "</div></div>\n";
}

void ReportPage::code(std::string_view caption, std::string_view text, bool folded) {
  openGrid();
  // A command is one line that is read; options are lines of their own.
  const std::string_view wrapped = folded ? "" : " class=\"wrapped\"";
  body_ += fmt::format(
      "<{0} class=\"card code\"><{1} class=\"title\">{2}</{1}><pre{3} tabindex=\"0\">{4}</pre><button "
      "type=\"button\">Copy</button></{0}>\n",
      folded ? "details" : "div", folded ? "summary" : "p", escapeHtml(caption), wrapped, escapeHtml(text));
}

void ReportPage::note(std::string_view text) {
  openGrid();
  body_ += fmt::format("<p class=\"note\">{}</p>\n", escapeHtml(text));
}

void ReportPage::legend(std::string_view label, const std::vector<std::string>& colors,
                        const std::vector<std::pair<double, std::string>>& ticks) {
  openGrid();
  body_ +=
      fmt::format("<div class=\"legend\">{}<i style=\"background: linear-gradient(to right, {})\"></i><div>",
                  escapeHtml(label), fmt::join(colors, ", "));
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
