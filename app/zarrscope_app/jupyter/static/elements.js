// The browser's side: paints the snapshots that the kernel sends, and forwards gestures. All words, numbers and decisions
// come from the kernel.

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;  // a strict page refuses the attribute, but not this
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== ""));
  return node;
}

const hex = (rgb) => "#" + rgb.map((v) => v.toString(16).padStart(2, "0")).join("");
const rgb = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

// Replaces the content of a box, and keeps its scroll position.
function refill(box, ...children) {
  const top = box.scrollTop, left = box.scrollLeft;
  box.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== ""));
  if (top) box.scrollTop = top;  // has the browser lay out everything at once
  if (left) box.scrollLeft = left;
}

// Fills a box as `refill` does, but leaves a field `held`, which has the focus, where it is, with the text that a person
// types into it. The new field in its place has the same data attribute of the name `key`; without one, all is filled.
// A text that was sent stays until the kernel has another than before. Returns whether an unsent text stays.
function refillAround(box, children, held, key) {
  const made = el("div", {}, children), chain = (node, top) => (node === top ? [] : [...chain(node.parentNode, top), node]);
  const twin = held && [...made.querySelectorAll(held.tagName)].find((it) => it.dataset[key] === held.dataset[key] && it.type === held.type);
  const old = held ? chain(held, box) : [], its = twin ? chain(twin, made) : [];
  if (!twin || old.length !== its.length) { refill(box, [...made.childNodes]); return false; }
  const top = box.scrollTop;
  old.forEach((kept, i) => {
    const now = its[i], siblings = [...now.parentNode.childNodes], at = siblings.indexOf(now);
    for (const each of [...kept.parentNode.childNodes]) if (each !== kept) each.remove();
    kept.before(...siblings.slice(0, at));
    kept.after(...siblings.slice(at + 1));
    for (const { name, value } of now.attributes) if (name !== "value") kept.setAttribute(name, value);
  });
  box.scrollTop = top;
  const before = held.defaultValue, shown = held.value, changed = shown !== before, whole = held.selectionStart === 0 && held.selectionEnd === held.value.length;
  held.defaultValue = twin.defaultValue;
  if (changed && !(held.dataset.sent && twin.defaultValue !== before)) return !held.dataset.sent;
  held.zsPart = twin.zsPart;
  if (held.value !== twin.value) held.value = twin.value;
  if (whole && held.value !== shown) held.select();
  return false;
}

// The place of an element in a box, and the element of the same kind and name at such a place after the box was filled.
const nameOf = (node) => [node.tagName, node.type, node.getAttribute("aria-label") ?? node.textContent].join(" ");
function placeIn(box, node) {
  const way = [];
  for (let it = node; it !== box; it = it.parentNode) way.unshift([...it.parentNode.children].indexOf(it));
  return { way, name: nameOf(node) };
}
function atPlace(box, { way, name }) {
  const found = way.reduce((it, at) => it?.children[at], box);
  return found && nameOf(found) === name && !found.disabled ? found : null;
}

function corners() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
  for (const [name, value] of [["viewBox", "0 0 12 12"], ["width", "12"], ["height", "12"]]) svg.setAttribute(name, value);
  for (const [name, value] of [["d", "M1 4V1h3M8 1h3v3M11 8v3H8M4 11H1V8"], ["fill", "none"], ["stroke", "currentColor"], ["stroke-width", "1.4"]]) path.setAttribute(name, value);
  svg.append(path);
  return svg;
}

// The content of a part: that which was sent in full, with the difference since then as differences.py describes it.
function patched(old, change) {
  if (change === undefined) return old;
  if (Array.isArray(change)) return change.length === 1 ? change[0] : withTextEdits(old, change);
  const now = Array.isArray(old) ? [...old] : { ...old };
  for (const name of Object.keys(change)) now[name] = patched(old[name], change[name]);
  return now;
}

function withTextEdits(old, edits) {
  let made = "", at = 0;
  for (let i = 0; i < edits.length; i += 3) { made += old.slice(at, edits[i]) + edits[i + 2]; at = edits[i + 1]; }
  return made + old.slice(at);
}

// The line after a change of its numbers as differences.py describes it.
const NUMBER = /-?[0-9][-+.0-9e]*|…/g;
function withReadoutChange(old, [numbers, end]) {
  const found = [...old.matchAll(NUMBER)];
  let made = "", at = 0;
  numbers.split(" ").slice(0, found.length).forEach((number, i) => {
    made += old.slice(at, found[i].index) + (number === "?" ? "…" : number || found[i][0]);
    at = found[i].index + found[i][0].length;
  });
  return made + (end ?? old.slice(at));
}

// The edit that makes one text from another: the first character that is replaced, the one after the last, and the new
// characters. A pair of units that is one character is not taken apart.
function textEdit(old, now) {
  const half = (text, at) => { const unit = text.charCodeAt(at); return unit >= 0xdc00 && unit < 0xe000; };
  let start = 0, end = old.length, last = now.length;
  while (start < end && start < last && old[start] === now[start]) start++;
  if (half(old, start) || half(now, start)) start = Math.max(0, start - 1);
  while (end > start && last > start && old[end - 1] === now[last - 1]) { end--; last--; }
  if (half(old, end)) { end++; last++; }
  return [start, end, now.slice(start, last)];
}

// The same number as `checksum` of differences.py (Adler-32 of UTF-16).
function checksum(text) {
  let a = 1, b = 0;
  for (let i = 0; i < text.length;) {
    for (const end = Math.min(text.length, i + 1024); i < end; i++) {  // so few that both sums stay below 2 ** 31
      const unit = text.charCodeAt(i);
      a += unit & 255; b += a;
      a += unit >> 8; b += a;
    }
    a %= 65521; b %= 65521;
  }
  return b * 65536 + a;
}

// Returns a function that calls `paint` only if its first argument differs from that of the last call.
function painter(paint) {
  let last = "";
  return (what, ...more) => {
    const now = JSON.stringify(what);
    if (now === last) return false;
    last = now;
    paint(what, ...more);
    return true;
  };
}

const choice = (options, chosen, label, take, more = {}) => el("select", { "aria-label": label, title: label, onchange: (e) => take(e.target.value), ...more },
  options.map(([id, title]) => el("option", { value: id, selected: String(id) === String(chosen) }, title)));
const typing = (node) => /^(INPUT|SELECT|TEXTAREA)$/.test(node?.tagName) && !/^(range|checkbox|color|button)$/.test(node.type);
// The element with the focus. marimo shows a widget in a shadow tree, and the document would name that tree's host.
const focused = (box) => box.getRootNode().activeElement;
