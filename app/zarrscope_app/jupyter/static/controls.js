// Sliders beneath the picture, and the panel beside it: channels, labels, levels, projection, export.

// A field for a number. If the kernel refuses the typed text, the field keeps it, marked, with the reason as its title.
function typed(ui, field, of, text, label, take) {
  const refusal = ui.image.refusal, refused = refusal.field === `${field}:${of}` || (of === "" && refusal.field === field);
  return el("input", { class: "num" + (refused ? " refused" : ""), value: refused ? refusal.text : text, title: refused ? refusal.sentence : label,
    "aria-label": label, "aria-invalid": String(refused), spellcheck: "false", "data-field": `${field}:${of}`,
    onfocus: (e) => { e.target.select(); delete e.target.dataset.sent; }, oninput: (e) => { delete e.target.dataset.sent; }, onchange: (e) => { e.target.dataset.sent = "1"; take(e.target.value); } });
}
const captioned = (caption, control) => el("label", { class: "zs-cap" }, el("span", {}, caption), control);
// A button with a sign. `of` names the channel or the axis that it acts on.
const icon = (ui, sign, word, act, more = {}, of = "") => el("button", { class: "bare", title: ui.words[word], "aria-label": [ui.words[word], of].filter(Boolean).join(" "), onclick: act, ...more }, sign);

function makeSliders(ui) {
  const node = el("div", { class: "zs-controls" });
  let made = "";
  function make(axes) {
    refill(node, axes.flatMap((a) => [
      el("button", { class: "bare" + (a.name === ui.image.current ? " cur" : ""), title: ui.words.slice + " " + a.title, onclick: () => ui.line.send("slice.choose_axis", a.name) }, a.title),
      el("input", { type: "range", min: 0, max: a.length - 1, "aria-label": a.title, "data-axis": a.name,
        oninput: (e) => ui.line.push("index" + a.name, "slice.set_index", a.name, +e.target.value) }),
      typed(ui, "index", a.name, "", ui.words.index + " " + a.title, (text) => ui.line.send("slice.type_index", a.name, text)),
      el("span", { class: "num zs-quiet", "data-end": a.name }, a.end_text),
      ui.places[a.name]?.[2] ? typed(ui, "position", a.name, "", ui.words.position + " " + a.title, (text) => ui.line.send("slice.type_position", a.name, text)) : el("span"),
      icon(ui, a.playing ? "⏸" : "▶", "play", () => ui.line.send("slice.play", a.name), { "aria-pressed": String(a.playing) }, a.title),
    ]));
  }
  function paint() {
    const axes = ui.image.axes.filter((a) => a.role === "slider"), refusal = ui.image.refusal;
    const now = JSON.stringify([axes, ui.image.current, refusal, axes.map((a) => !!ui.places[a.name]?.[2])]);
    const active = focused(ui.box), inside = node.contains(active) ? active.dataset : null;
    if (now !== made && !(inside?.field && !inside.sent)) {
      made = now;
      make(axes);
      const again = inside && node.querySelector(inside.axis ? `[data-axis="${CSS.escape(inside.axis)}"]` : `[data-field="${CSS.escape(inside.field)}"]`);
      if (again) again.focus();
    }
    for (const a of axes) {
      const [index, text, position, channel] = ui.places[a.name] || [0, "", "", ""];
      const end = node.querySelector(`[data-end="${CSS.escape(a.name)}"]`);
      if (end) end.textContent = [a.end_text, channel].filter(Boolean).join(" · ");
      const slider = node.querySelector(`[data-axis="${CSS.escape(a.name)}"]`);
      // A slider in use keeps its place until the kernel has answered: an earlier index would take steps back.
      if (slider && !(slider === active && ui.line.waits)) slider.value = index;
      slider?.setAttribute("aria-valuetext", [text, a.end_text, channel, position].filter(Boolean).join(" "));
      for (const [field, shown] of [["index", text], ["position", position]]) {
        const at = node.querySelector(`[data-field="${field}:${CSS.escape(a.name)}"]`);
        if (at && !(at === active && !at.dataset.sent) && refusal.field !== `${field}:${a.name}`) at.value = shown;
      }
    }
  }
  return { node, paint };
}

const INK = "#8a8a8a";  // visible on light and on dark backgrounds: the theme may change after a drawing was made

// The histogram of a channel, with a handle for each limit.
function strip(ui, c, i) {
  const canvas = el("canvas", { class: "zs-strip", role: "img", "aria-label": [ui.words["limit-lo"], ui.words["limit-hi"], c.label].join(" "), title: ui.words["limit-lo"] + " · " + ui.words["limit-hi"], "data-strip": i });
  const span = c.high - c.low || 1;
  let watching = null;  // asks for the histogram of a hidden channel when its place comes into view
  let lo = c.lo ?? c.low, hi = c.hi ?? c.high, held = "";
  function paint() {
    const dense = window.devicePixelRatio || 1, w = (canvas.width = Math.max(1, canvas.clientWidth * dense)), h = (canvas.height = Math.max(1, canvas.clientHeight * dense));
    const g = canvas.getContext("2d"), x = (v) => ((v - c.low) / span) * w;
    if (c.histogram.length) {
      const most = Math.log1p(Math.max(...c.histogram));
      g.fillStyle = INK; g.globalAlpha = 0.6;
      c.histogram.forEach((n, k) => { const tall = (Math.log1p(n) / most) * (h - 2); g.fillRect((k / c.histogram.length) * w, h - tall, w / c.histogram.length + 0.5, tall); });
    }
    else if (c.unmeasured) {
      g.fillStyle = INK; g.font = `${10 * dense}px sans-serif`; g.textAlign = "center"; g.textBaseline = "middle";
      g.fillText(c.unmeasured, w / 2, h / 2, w - 8 * dense);
    } else if (!c.visible && !watching) {
      watching = new IntersectionObserver((seen) => { if (seen.some((e) => e.isIntersecting)) { watching.disconnect(); ui.line.send("slice.want_histogram", i); } });
      watching.observe(canvas);
    }
    const fade = g.createLinearGradient(x(lo), 0, Math.max(x(hi), x(lo) + 1), 0), ramp = c.ramp.length ? c.ramp : ["#000", hex(c.color)];
    ramp.forEach((color, k) => fade.addColorStop(c.inverted ? 1 - k / (ramp.length - 1) : k / (ramp.length - 1), color));
    g.globalAlpha = 1; g.fillStyle = fade; g.fillRect(0, h - 4 * dense, w, 4 * dense);
    g.fillStyle = INK;
    for (const v of [lo, hi]) g.fillRect(Math.min(w - 2 * dense, Math.max(0, x(v) - dense)), 0, 2 * dense, h);
  }
  const value = (e) => { const b = canvas.getBoundingClientRect(); return c.low + Math.min(1, Math.max(0, (e.clientX - b.left) / b.width)) * span; };
  canvas.addEventListener("pointerdown", (e) => {
    const v = value(e);
    held = Math.abs(v - lo) < Math.abs(v - hi) || v < lo ? "lo" : "hi";
    canvas.setPointerCapture(e.pointerId); ui.holds = true; move(e);
  });
  function move(e) {
    if (!held) return;
    if (held === "lo") lo = value(e); else hi = value(e);
    paint();
    ui.line.push("levels" + i, "slice.set_levels", i, lo, hi);
  }
  canvas.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = ""; ui.holds = false; ui.update(); });
  canvas.addEventListener("dblclick", () => ui.line.send("slice.auto", i));
  new ResizeObserver(() => held || paint()).observe(canvas);  // some notebooks lay the widget out later than they show it
  return canvas;
}

function channelCard(ui, c, i, many) {
  const w = ui.words, line = ui.line;
  return el("div", { class: "zs-channel" + (c.visible ? "" : " off"), "data-channel": i },
    el("div", { class: "zs-line" },
      el("label", {}, el("input", { type: "checkbox", checked: c.visible, "aria-label": c.label, onchange: (e) => line.send("slice.set_visible", i, e.target.checked) }),
        el("input", { type: "color", value: hex(c.color), title: w.color, "aria-label": w.color + " " + c.label, onchange: (e) => line.send("slice.set_color", i, rgb(e.target.value)) }),
        el("span", { class: "nm", title: c.label }, c.label)),
      c.is_alpha ? "" : [icon(ui, "A", "auto", () => line.send("slice.auto", i), {}, c.label),
        icon(ui, "◐", "invert", () => line.send("slice.set_inverted", i, !c.inverted), { "aria-pressed": String(c.inverted) }, c.label),
        many ? icon(ui, "①", "alone", () => line.send("slice.show_alone", i), {}, c.label) : ""]),
    c.is_alpha ? "" : [strip(ui, c, i),
      el("div", { class: "zs-fields" },
        captioned(w["limit-lo"], typed(ui, "lo", i, c.lo_text, w["limit-lo"] + " " + c.label, (text) => line.send("slice.type_limit", i, "lo", text))),
        captioned(w["limit-hi"], typed(ui, "hi", i, c.hi_text, w["limit-hi"] + " " + c.label, (text) => line.send("slice.type_limit", i, "hi", text))),
        captioned(w.gamma, typed(ui, "gamma", i, c.gamma_text, w.gamma + " " + c.label, (text) => line.send("slice.type_gamma", i, text))),
        ui.image.colormaps.length ? captioned(w.colormap, choice([["", "–"], ...ui.image.colormaps.map((m) => [m, m])], c.colormap, w.colormap + " " + c.label, (m) => line.send("slice.set_colormap", i, m))) : "")]);
}

function labelCard(ui, l) {
  const w = ui.words, line = ui.line;
  return el("div", { class: "zs-channel" + (l.visible ? "" : " off") },
    el("div", { class: "zs-line" }, el("label", { title: l.sentence }, el("input", { type: "checkbox", checked: l.visible, onchange: (e) => line.send("slice.set_label", l.path, e.target.checked) }), el("span", { class: "nm" }, l.name))),
    l.visible ? el("div", { class: "zs-fields" },
      captioned(w.alpha, el("input", { type: "range", min: 0, max: 100, value: Math.round(l.opacity * 100), "aria-label": w.alpha + " " + l.name, oninput: (e) => line.push("alpha" + l.path, "slice.set_label", l.path, true, e.target.value / 100) })),
      captioned(w["only-label"], typed(ui, "label", l.path, l.chosen_text, w["only-label"], (text) => line.send("slice.type_label", l.path, text))),
      el("label", {}, el("input", { type: "checkbox", checked: l.outline, onchange: (e) => line.send("slice.set_outline", l.path, e.target.checked) }), w.outline)) : "");
}

function makeDisplay(ui) {
  const body = el("div"), find = el("input", { type: "search", class: "zs-find-channel", spellcheck: "false", oninput: search, onkeydown: (e) => {
    if (e.key === "Enter" && find.value.trim()) ui.line.send("show-channel", find.value);
    else if (e.key === "Escape") { clear(); ui.box.focus({ preventScroll: true }); }
    else if (e.key !== "Enter") return;
    e.stopPropagation();
  } });
  const above = el("div", { class: "zs-find-channels" }, find), node = el("div", { class: "zs-display" }, above, body);
  let asked = false, of = "", reached = -1;  // `reached`: the channel that was found and is not yet scrolled into view
  function search() { ui.line.push("find-channel", "find-channel", find.value); }
  function clear() { asked = false; if (find.value) { find.value = ""; search(); } }
  const show = painter((_, held) => {
    const s = ui.image, w = ui.words, line = ui.line, parts = ui.channels[0]?.parts || [];
    const axes = s.axes.filter((a) => a.role !== "channel" && a.length > 0), now = (role) => s.axes.find((a) => a.role === role)?.name;
    const options = axes.map((a) => [a.name, a.title]);
    const top = node.scrollTop;
    refillAround(body, [
      ui.channels.length ? el("h4", {}, w.channels, el("button", { class: "bare", onclick: () => line.send("slice.auto") }, w["auto-all"])) : "",
      ui.channels.map((c, i) => (s.found && !s.found.includes(i) ? "" : channelCard(ui, c, i, ui.channels.length > 1))),
      s.found && !s.found.length ? el("p", { class: "zs-quiet" }, w["channel-unknown"]) : "",
      s.labels.length ? el("h4", {}, w.labels) : "", s.labels.map((l) => labelCard(ui, l)),
      el("h4", {}, w["shown-axes"]),
      el("div", { class: "zs-fields" },
        options.length > 2 ? [captioned(w["rows-axis"], choice(options, now("y"), w["rows-axis"], (name) => line.send("slice.show", name, now("x")))),
          captioned(w["columns-axis"], choice(options, now("x"), w["columns-axis"], (name) => line.send("slice.show", now("y"), name)))] : "",
        s.levels.length > 1 ? captioned(w.level, choice([[-1, s.locked < 0 ? s.level_text : w["level-auto"]], ...s.levels.map((text, k) => [k, text])], s.locked, w.level, (k) => line.send("slice.lock_level", +k < 0 ? null : +k))) : "",
        parts.length ? captioned(w.part, choice(parts, ui.channels[0].part, w.part, (part) => line.send("slice.set_part", part))) : "",
        s.projection.methods.length ? [captioned(w.project, choice([["", w["project-off"]], ...s.projection.methods], s.projection.method, w.project, (method) => line.send("slice.project", method))),
          captioned(w["project-range"], typed(ui, "range", "", s.projection.range_text, w["project-range"], (text) => line.send("slice.type_range", text)))] : ""),
      s.projection.cost ? el("p", { class: "zs-quiet" }, s.projection.remark || s.projection.cost) : "",
      el("div", { class: "zs-line" },
        icon(ui, "⇄", "transpose", () => line.send("command", "transpose")), icon(ui, "⟳", "roll", () => line.send("command", "roll")),
        icon(ui, "⊞", "three-views", () => line.send("command", "three-views"), { "aria-pressed": String(s.three) }),
        icon(ui, "Σ", "measure-view", () => line.send("command", "measure-view"), { "aria-pressed": String(!!s.measurement.kind) })),
      el("label", {}, el("input", { type: "checkbox", checked: s.smooth, onchange: (e) => line.send("slice.set_smooth", e.target.checked) }), w.smooth),
      el("label", {}, el("input", { type: "checkbox", checked: s.dots, onchange: (e) => line.send("slice.set_dots", e.target.checked) }), w.dots),
      s.measurement.kind ? measurement(ui, s.measurement) : el("p", { class: "zs-quiet" }, w.region)], held, "field");
    node.scrollTop = top;
  });
  return {
    node,
    // Shows the field for the name of a channel, and gives it the focus.
    ask() { asked = true; this.paint(); find.focus(); find.select(); },
    // A channel was found and is displayed alone: the keys act on the picture again.
    found(number) { reached = number; asked = false; find.value = ""; ui.box.focus({ preventScroll: true }); },
    paint() {
      const active = focused(ui.box);
      const now = ui.place.turn + ui.place.path;
      if (of !== now) { of = now; clear(); }
      find.placeholder = ui.words["channel-name"]; find.title = ui.words["channel-name"]; find.setAttribute("aria-label", ui.words["channel-name"]);
      above.hidden = ui.channels.length < 2 || !(ui.image.many || asked || find === active);
      if (ui.holds) return;
      const held = body.contains(active) && active.dataset.field ? active : null;
      const s = ui.image;
      show([ui.channels, s.labels, s.axes, s.levels, s.locked, s.locked < 0 && s.level_text, s.projection, s.refusal, s.smooth, s.dots, s.three, s.measurement, s.current, s.found], held);
      const card = reached < 0 || s.found ? null : node.querySelector(`[data-channel="${reached}"]`);
      if (card) {
        reached = -1;
        const box = node.getBoundingClientRect(), at = card.getBoundingClientRect();
        if (at.top < box.top + above.offsetHeight || at.bottom > box.bottom) node.scrollTop += at.top - box.top - above.offsetHeight;
      }
    },
  };
}

function measurement(ui, m) {
  const canvas = el("canvas", { class: "zs-profile" }), curves = m.rows.filter((row) => row.profile);
  requestAnimationFrame(() => {
    const dense = window.devicePixelRatio || 1, w = (canvas.width = canvas.clientWidth * dense), h = (canvas.height = canvas.clientHeight * dense), c = canvas.getContext("2d");
    const all = curves.flatMap((row) => row.profile).filter((v) => v != null), low = Math.min(...all), span = Math.max(...all) - low || 1;
    for (const row of curves) {
      c.strokeStyle = hex(row.color); c.lineWidth = dense; c.beginPath();
      row.profile.forEach((v, k) => v != null && c.lineTo((k / Math.max(1, row.profile.length - 1)) * w, h - 2 - ((v - low) / span) * (h - 4)));
      c.stroke();
    }
  });
  return el("div", { class: "zs-measured" }, el("div", { class: "zs-line" }, el("b", {}, m.title), icon(ui, "×", "close-measure", () => ui.line.send("slice.forget_measurement"))),
    m.sentence ? el("p", {}, m.sentence) : "", m.rows.map((row) => el("p", {}, el("span", { class: "zs-dot", style: `background:${hex(row.color)}` }), row.label + " " + row.text)),
    curves.length ? [canvas, el("p", { class: "zs-quiet" }, `${m.low_text} … ${m.high_text}`)] : "");
}
