// The browser's side: paints the snapshots that the kernel sends, and forwards gestures. All words, numbers and decisions
// come from the kernel.

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
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
  box.scrollTop = top; box.scrollLeft = left;
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
  if (Array.isArray(change)) return change[0];
  const now = Array.isArray(old) ? [...old] : { ...old };
  for (const name of Object.keys(change)) now[name] = patched(old[name], change[name]);
  return now;
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
