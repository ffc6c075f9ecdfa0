// The other views: values, chunks, info, problems, the layout of a collection, and views of other packages.
function makePanes(ui) {
  const thumbs = new Map();

  // Arrow keys scroll the table, and are no keys of the picture here.
  const grid = el("div", { class: "zs-grid", tabindex: "0", onkeydown: (e) => { if (/^(Arrow|Page|Home|End)/.test(e.key)) e.stopPropagation(); } });
  let gridOf = "";
  function values(node) {
    const at = gridOf === ui.place.turn + ui.place.path ? [grid.scrollTop, grid.scrollLeft] : [0, 0];
    gridOf = ui.place.turn + ui.place.path;
    const t = ui.panel.table, w = ui.words, send = ui.line.send;
    const number = (value, most, label, take) => el("input", { type: "number", min: 0, max: Math.max(0, most), value, "aria-label": label, title: label, onchange: (e) => take(+e.target.value) });
    const axes = t.axes.map((a) => [a, a]);
    refill(node, el("div", { class: "zs-bar" },
      axes.length ? [captioned(w["table-rows"], choice(axes, t.row_title, w["table-rows"], (a) => send("values.show", a, t.column_title))), captioned(w["table-columns"], choice(axes, t.column_title, w["table-columns"], (a) => send("values.show", t.row_title, a)))] : "",
      t.fixed.map(([name, index, length]) => captioned(name, number(index, length - 1, w.index + " " + name, (i) => send("values.set_index", name, i)))),
      t.rows > t.cells.length ? captioned(w["row-from"], number(t.row, t.rows - 1, w["row-from"], (r) => send("cells", r, t.column))) : "",
      t.columns > t.heads.length ? captioned(w["column-from"], number(t.column, t.columns - 1, w["column-from"], (c) => send("cells", t.row, c))) : "",
      !t.numbers || (!t.cells.length && t.sentence) ? "" : captioned(w["table-format"], choice(t.formats.map((f) => [f, f]), t.format, w["table-format"], (f) => send("values.set_format", f)))),
    t.source ? el("p", { class: "zs-hint" }, t.source) : "",
    t.note ? el("p", { class: "zs-hint" }, t.note) : "",
    t.sentence ? el("p", { class: "zs-note" }, t.sentence) : "",
    t.cells.length ? grid : "");
    const kind = !t.numbers ? "text" : t.column_labels.length ? "" : "number";
    grid.replaceChildren(el("table", { class: kind }, el("tr", {}, el("th"), t.heads.map((h) => el("th", {}, h))), t.cells.map((row, r) => el("tr", {}, el("th", {}, t.sides[r]), row.map((c) => el("td", {}, c))))));
    [grid.scrollTop, grid.scrollLeft] = at;
  }

  const COLORS = ["transparent", "", "", "#e6a700", "#d9534f", "#8884"];
  function chunks(node) {
    const c = ui.panel.chunks, w = ui.words, send = ui.line.send;
    const rows = c.cells.length, columns = rows ? c.cells[0].length : 0;
    // The first arrow key chooses the first cell, if none is chosen.
    const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const clickable = (map, call, title, name) => {
      const most = [map.cells.length - 1, (map.cells[0]?.length ?? 1) - 1];
      const made = el("canvas", { class: "zs-map", title, tabindex: "0", role: "application", "aria-label": name, onclick: (e) => {
        const b = made.getBoundingClientRect();
        send(call, Math.floor(((e.clientY - b.top) / b.height) * map.cells.length), Math.floor(((e.clientX - b.left) / b.width) * map.cells[0].length));
      }, onkeydown: (e) => {
        if (!STEPS[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault(); e.stopPropagation();
        send(call, ...[0, 1].map((i) => (map.chosen_cell ? Math.max(0, Math.min(most[i], map.chosen_cell[i] + STEPS[e.key][i])) : 0)));
      } });
      return made;
    };
    const canvas = clickable(c, "chunks.choose", w["chunk-choose"], w["chunk-map"]), inside = c.inner && clickable(c.inner, "chunks.choose_inner", w["chunk-inner-map"], w["chunk-inner-map"]);
    const options = c.axes.map((a) => [a, a]);
    refill(node, el("div", { class: "zs-bar" },
      c.levels.length > 1 ? captioned(w.level, choice(c.levels.map((l, i) => [i, l]), c.level, w.level, (i) => send("chunks.set_level", +i))) : "",
      options.length > 1 ? [captioned(w["chunk-rows"], choice(options, c.row_axis, w["chunk-rows"], (a) => send("chunks.show", a, c.column_axis))), captioned(w["chunk-columns"], choice(options, c.column_axis, w["chunk-columns"], (a) => send("chunks.show", c.row_axis, a)))] : "",
      c.fixed.map(([axis, at, many]) => captioned(axis, el("input", { type: "number", min: 0, max: many - 1, value: at, "aria-label": axis, onchange: (e) => send("chunks.set_chunk", axis, +e.target.value) }))),
      rows ? captioned(w["chunk-color"], choice(c.colorings, c.colored_by, w["chunk-color"], (by) => send("chunks.color_by", by))) : "",
      c.whole ? "" : el("button", { onclick: () => send("chunks.show_whole") }, w["chunk-whole"]),
      c.scanning ? el("button", { onclick: () => send("chunks.cancel") }, w["chunk-list-stop"]) : el("button", { onclick: () => send("chunks.refresh") }, w["chunk-refresh"])),
    c.sentence ? el("p", { class: "zs-note" }, c.sentence) : "",
    el("div", { class: "zs-chunks" }, rows ? el("div", { class: "zs-mapbox" }, el("span", { class: "zs-quiet" }, `${c.row_axis ? c.row_axis + " ↓  " : ""}${c.column_axis || ""} →`), canvas,
      el("div", { class: "zs-legend" }, c.legend.map((text, k) => c.cells.some((row) => row.includes(String(k))) ? el("span", {}, el("i", { class: "c" + k }), text) : ""), c.scale.map(([share, text]) => el("span", {}, el("i", { class: "c1", style: `opacity: ${0.3 + 0.7 * share}` }), text)))) : "",
    el("div", { class: "zs-counts" }, list(c.items), c.chosen ? el("div", { class: "zs-chosen", role: "status" }, el("h4", {}, c.chosen.title), list(c.chosen.items), c.chosen.sentence ? el("p", { class: c.chosen.failed ? "er" : "" }, c.chosen.sentence) : "",
      inside ? [el("h4", {}, c.inner.title), c.inner.fixed.map(([axis, at, low, high]) => captioned(axis, el("input", { type: "number", min: low, max: high, value: at, "aria-label": axis, onchange: (e) => send("chunks.set_inner", axis, +e.target.value) }))), el("div", {}, inside)] : "",
      c.chosen.parts.map((part) => [el("h4", {}, part.title), list(part.items), part.text ? el("pre", {}, part.text) : ""]),
      c.pictured ? el("button", { onclick: () => send("chunks.show_in_image") }, w["chunk-in-image"]) : "", " ", el("button", { onclick: () => send("chunks.check") }, w["chunk-check"])) : rows ? el("p", { class: "zs-quiet" }, w["chunk-choose"]) : "")));
    if (rows) requestAnimationFrame(() => {
      drawMap(canvas, c, rows, columns);
      if (inside) drawMap(inside, c.inner, c.inner.cells.length, c.inner.cells[0].length);
    });
  }
  function drawMap(canvas, c, rows, columns) {
    const around = canvas.parentNode, beside = around.className === "zs-mapbox" ? around.parentNode.clientWidth / 2 : around.clientWidth;
    const room = Math.max(80, Math.min(beside, 360)), cell = Math.max(3, Math.min(28, Math.floor(room / columns), Math.floor(260 / rows)));
    // A map of few columns, or of few rows, would otherwise be too thin to be clicked.
    const wide = Math.max(cell, Math.min(12, Math.floor(room / columns))), tall = Math.max(cell, Math.min(12, Math.floor(260 / rows)));
    const dense = window.devicePixelRatio || 1, g = canvas.getContext("2d"), accent = getComputedStyle(ui.box).getPropertyValue("--accent").trim() || "#1976d2", ink = getComputedStyle(ui.box).color;
    canvas.width = columns * wide * dense; canvas.height = rows * tall * dense;
    canvas.style.width = columns * wide + "px"; canvas.style.height = rows * tall + "px";
    g.scale(dense, dense);
    for (let r = 0; r < rows; r++) for (let k = 0; k < columns; k++) {
      const state = +c.cells[r][k], x = k * wide, y = r * tall, gap = cell > 5 ? 1 : 0;
      g.globalAlpha = state === 1 || state === 2 ? (0.3 + 0.7 * (parseInt(c.shades[r]?.[k] || "0", 16) / 15)) * (state === 2 ? 0.6 : 1) : 1;
      g.fillStyle = COLORS[state] || accent;
      g.fillRect(x, y, wide - gap, tall - gap);
      g.globalAlpha = 1; g.fillStyle = ink; g.strokeStyle = ink;
      if (state === 0 && (cell > 4 || wide !== tall)) { g.globalAlpha = 0.45; g.fillRect(x + wide / 2 - 0.5, y + tall / 2 - 0.5, 1, 1); }
      if (state === 4 && cell > 5) { g.beginPath(); g.moveTo(x, y + tall - gap); g.lineTo(x + wide - gap, y); g.stroke(); }
      g.globalAlpha = 1;
    }
    if (c.chosen_cell) { g.strokeStyle = ink; g.lineWidth = 2; g.strokeRect(c.chosen_cell[1] * wide, c.chosen_cell[0] * tall, wide - 1, tall - 1); }
  }
  const table = (s) => el("table", { class: "zs-levels" }, el("tr", {}, s.columns.map((c) => el("th", {}, c))), s.rows.map((r) => el("tr", {}, r.map((c) => el("td", {}, c)))));
  const list = (items) => el("dl", {}, items.flatMap((i) => [el("dt", {}, i.label), el("dd", { title: i.hint }, i.text)]));

  function info(node) {
    const i = ui.panel.info, w = ui.words;
    if (!i.title && !i.problem) { refill(node, el("p", { class: "zs-note" }, w.loading)); return; }
    refill(node, el("div", { class: "zs-info" }, i.words ? el("p", {}, i.words) : "", el("div", { class: "zs-quiet" }, i.subtitle), i.problem ? el("p", {}, "⚠ " + i.problem) : "",
      i.warnings.map((text) => el("p", {}, "⚠ " + text)), el("div", { class: "zs-told" }, i.sections.map((s) => el("section", {}, el("h4", {}, s.title), s.hint ? el("p", { class: "zs-hint" }, s.hint) : "", s.rows.length ? table(s) : list(s.items)))),
      i.snippets.length ? el("h4", {}, w.snippets) : "",
      i.snippets.map((s) => el("details", {}, el("summary", {}, s.title, s.text ? el("button", { class: "bare", onclick: (e) => { e.preventDefault(); ui.copied(s.text); } }, w["code-copy"]) : ""), s.text ? el("pre", {}, s.text) : el("p", { class: "zs-quiet" }, s.why))),
      i.documents.length ? i.documents.flatMap(([key, text]) => [el("h4", {}, key), el("pre", {}, text)]) : i.undocumented ? el("p", { class: "zs-quiet" }, i.undocumented) : el("button", { disabled: i.loading, onclick: () => ui.line.send("metadata.load_documents") }, w.document)));
    const tables = [...node.querySelectorAll(".zs-levels")], told = i.sections.filter((s) => s.rows.length);
    requestAnimationFrame(() => tables.forEach((t, k) => {  // widths are known once the pane is in the page
      if (t.isConnected && t.offsetWidth > t.parentNode.clientWidth) t.replaceWith(list(told[k].items));
    }));
  }
  let typed = "", thorough = false;  // the typed address and the check box of a comparison, kept when it is painted again
  function comparison(comparing) {
    const w = ui.words, send = ui.line.send;
    const begin = () => send(comparing ? "problems.stop_comparing" : "problems.compare", ...(comparing ? [] : [typed, thorough]));
    return el("div", { class: "zs-bar zs-compare" },
      el("input", { value: typed, placeholder: w["compare-with"], "aria-label": w["compare-with"], spellcheck: "false", oninput: (e) => { typed = e.target.value; }, onkeydown: (e) => { if (e.key === "Enter") begin(); } }),
      el("label", {}, el("input", { type: "checkbox", checked: thorough, onchange: (e) => { thorough = e.target.checked; } }), w["compare-values"]),
      el("button", { "data-command": "compare", onclick: begin }, w[comparing ? "compare-stop" : "compare"]));
  }
  function problems(node) {
    const p = ui.panel;
    refill(node, el("div", { class: "zs-info" }, el("div", { class: "zs-bar" }, el("span", {}, p.problems_text), el("button", { "data-command": "check", onclick: () => ui.line.send("command", "check") }, ui.words[p.check])),
      p.problems.map((each) => el("p", { class: "zs-problem", title: each.sign.name + ": " + each.details }, el("span", { class: "sv " + each.sign.icon, role: "img", "aria-label": each.sign.name }, each.sign.character), each.headline, each.path && each.path !== ui.place.path ? el("button", { class: "bare", onclick: () => ui.line.send("session.select", each.path) }, each.path) : "")), comparison(p.comparing)));
  }
  function overview(node) {
    const o = ui.panel.overview, named = o.columns.some(Boolean), grid = el("div", { class: "zs-plate" + (named ? "" : " zs-series") });
    grid.style.setProperty("--rows", Math.max(1, o.rows.length));
    grid.style.gridTemplateColumns = `${named ? "auto " : ""}repeat(${Math.max(1, o.columns.length)}, minmax(${named ? 15 : 64}px, var(--well)))`;
    if (named) grid.append(el("span"), ...o.columns.map((name) => el("span", { class: "zs-quiet hd" }, name)));
    const cells = new Map(o.cells.map((c) => [c.row + "/" + c.column, c]));
    o.rows.forEach((name, r) => {
      if (named) grid.append(el("span", { class: "zs-quiet hd" }, name));
      o.columns.forEach((_, k) => {
        const c = cells.get(r + "/" + k);
        if (!c) { grid.append(el("span", { class: "zs-well none" })); return; }
        grid.append(el("button", { class: "zs-well", title: [c.name, c.sentence].filter(Boolean).join("\n"), "aria-label": c.name, "data-well": c.path, onclick: () => ui.line.send("session.select", c.path) },
          thumbs.has(c.path) ? el("img", { src: thumbs.get(c.path), alt: "" }) : el("i", {}, c.sentence ? "⚠" : "…"), named ? "" : el("span", {}, c.name)));
      });
    });
    refill(node, el("div", { class: "zs-info" }, el("p", {}, [o.title, o.sentence].filter(Boolean).join(" · ")), grid));
  }
  function blocks(node) {
    refill(node, (ui.panel.blocks || []).map(([kind, what]) => kind === "picture" ? el("img", { src: what })
      : kind === "table" ? el("table", {}, what.map((row, r) => el("tr", {}, row.map((cell) => el(r ? "td" : "th", {}, cell)))))
      : el("pre", {}, what)));
  }
  // The painter of each view of the presenters' table, except the picture and the form.
  const PAINTERS = { values, chunks, info, problems, overview };
  const show = painter((panel, node) => (PAINTERS[panel.tab] || blocks)(node));
  let loaded = 0;
  return {
    paint: (node) => show({ ...ui.panel, loaded, path: ui.place.path }, node),
    take(named, buffers) {
      named.forEach(([path, kind], i) => {
        if (thumbs.has(path)) URL.revokeObjectURL(thumbs.get(path));
        thumbs.set(path, URL.createObjectURL(new Blob([buffers[i]], { type: "image/" + kind })));
      });
      loaded++;
    },
    // Drops the thumbnails of a place that is no longer in front.
    forget() { for (const url of thumbs.values()) URL.revokeObjectURL(url); thumbs.clear(); },
    end() { this.forget(); },
  };
}

// The export pane: the content, its size, and its target, which is a path on the kernel's machine.
function exportPane(ui) {
  const x = ui.export, w = ui.words, send = ui.line.send;
  const target = el("input", { value: x.target, "aria-label": w["export-target"], spellcheck: "false", onchange: () => send("export", "name", target.value) });
  return el("div", { class: "zs-export" }, captioned(w["export-what"], choice(x.whats, x.what, w["export-what"], (what) => send("export", "choose", what, ""))),
    captioned(w["export-format"], choice(x.formats, x.format, w["export-format"], (format) => send("export", "choose", x.what, format))), captioned(w["export-target"], target),
    el("p", {}, x.sentence), x.notes.map((n) => el("p", { class: "zs-quiet" }, n)),
    el("div", { class: "zs-line" }, el("button", { disabled: !x.ready, "data-command": "export-run", onclick: () => send("export", "run") }, w["export-what"]),
      x.taken && x.ready ? el("button", { onclick: () => send("export", "run", true) }, w.overwrite) : "", el("button", { onclick: () => send("export", "end") }, w["export-close"])));
}
function jobList(ui) {
  return ui.place.jobs.map((job) => el("span", { class: "zs-job", title: job.details },
    job.state === "running" ? [job.name + " ", el("progress", job.progress == null ? {} : { value: job.progress, max: 1 }), " " + job.text] : job.name + ": " + job.sentence,
    icon(ui, "×", job.state === "running" ? "cancel" : "dismiss", () => ui.line.send(job.state === "running" ? "jobs.cancel" : "jobs.dismiss", job.id))));
}
