// The browser's side: paints what the kernel sends, forwards gestures. No words, no numbers, no decisions of its own.
const ROW = 22;

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const hex = (rgb) => "#" + rgb.map((v) => v.toString(16).padStart(2, "0")).join("");
const rgb = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

function render({ model, el: root }) {
  const send = (name, ...args) => model.send({ do: name, args });
  const head = el("div", { class: "zs-head" });
  const errorBar = el("div", { class: "zs-error-bar", role: "alert" });
  const question = el("div", { class: "zs-question", style: "display: none" });
  const filter = el("input", { type: "search", oninput: () => send("tree.filter", filter.value),
    onkeydown: (e) => { if (e.key === "Enter") send("name", filter.value); } });
  const tree = el("div", { class: "zs-tree", role: "tree", onscroll: askRows });
  const side = el("div", { class: "zs-side" }, filter, tree);
  const tabs = el("div", { class: "zs-tabs", role: "tablist" });
  const pane = el("div", { class: "zs-pane" });
  const probe = el("span", { class: "probe" });
  const status = el("span", { class: "zs-quiet" });
  const box = el("div", { class: "zs", tabindex: "0", "data-lm-suppress-shortcuts": "true" }, head, errorBar, question,
    el("div", { class: "zs-body" }, side, el("div", { class: "zs-main" }, tabs, pane)),
    el("div", { class: "zs-foot" }, probe, status));
  box.style.height = model.get("height") + "px";
  root.append(box);

  // ---------------------------------------------------------------- the picture
  const canvas = el("canvas");
  const over = el("div", { class: "zs-over" });
  const stage = el("div", { class: "zs-canvas" }, canvas, over);
  const controls = el("div", { class: "zs-controls" });
  const channels = el("div", { class: "zs-channels" });
  const imagePane = el("div", { class: "zs-image" }, stage, controls, channels);
  let bitmap = null, shown = null, rect = null, shapeKey = "", pending = false, decoding = 0;

  function fit() {
    const frame = model.get("frame");
    if (!frame.shape || !stage.clientWidth) return;
    const [h, w] = frame.shape, tall = h * (frame.aspect || 1);
    const scale = Math.max(tall / stage.clientHeight, w / stage.clientWidth);
    const rows = (stage.clientHeight * scale) / (frame.aspect || 1), columns = stage.clientWidth * scale;
    rect = [(h - rows) / 2, (w - columns) / 2, (h + rows) / 2, (w + columns) / 2];
    look();
  }
  function look() {
    paint();
    if (pending || !rect) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      const dense = Math.min(2, window.devicePixelRatio || 1);
      send("viewport", rect, [Math.round(stage.clientHeight * dense), Math.round(stage.clientWidth * dense)]);
    });
  }
  function paint() {
    const dense = window.devicePixelRatio || 1, width = stage.clientWidth, height = stage.clientHeight;
    if (!width || !height) return;
    canvas.width = width * dense; canvas.height = height * dense;
    if (!bitmap || !shown || !rect) return;
    const c = canvas.getContext("2d"), sy = canvas.height / (rect[2] - rect[0]), sx = canvas.width / (rect[3] - rect[1]);
    const place = (r) => [(r[1] - rect[1]) * sx, (r[0] - rect[0]) * sy, (r[3] - r[1]) * sx, (r[2] - r[0]) * sy];
    c.imageSmoothingEnabled = false;
    c.drawImage(bitmap, ...place(shown.rect));
    for (const mark of shown.marks || []) {
      const [x, y, w, h] = place(mark);
      c.save(); c.beginPath(); c.rect(x, y, w, h); c.clip(); c.strokeStyle = "#d9534f99"; c.beginPath();
      for (let d = -h; d < w; d += 12) {
        c.moveTo(x + d, y); c.lineTo(x + d + h, y + h);
        if (mark[4] === "failed") { c.moveTo(x + d, y + h); c.lineTo(x + d + h, y); }
      }
      c.stroke(); c.restore();
    }
    if (shown.bar) {
      const length = shown.bar.length * sx, x = canvas.width - length - 12 * dense, y = canvas.height - 14 * dense;
      c.fillStyle = "#fff"; c.strokeStyle = "#000"; c.lineWidth = 3; c.strokeRect(x, y, length, 3 * dense);
      c.fillRect(x, y, length, 3 * dense); c.font = `${12 * dense}px sans-serif`; c.textAlign = "right";
      c.strokeText(shown.bar.text, canvas.width - 12 * dense, y - 4 * dense);
      c.fillText(shown.bar.text, canvas.width - 12 * dense, y - 4 * dense);
    }
  }
  async function picture() {
    const frame = model.get("frame"), bytes = model.get("picture"), turn = ++decoding;
    const sentence = frame.blocked || frame.sentence || "";
    over.replaceChildren(sentence);
    if (frame.blocked) over.append(el("button", { onclick: () => send("slice.load_anyway") }, model.get("view").words.load));
    const key = model.get("view").session?.path + "|" + (frame.shape || []).join();
    if (frame.shape && key !== shapeKey) { shapeKey = key; fit(); }
    if (!bytes || !bytes.byteLength) return;
    const made = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    if (turn !== decoding) return;
    bitmap = made; shown = frame; box.dataset.loading = frame.loading; paint();
  }
  function spot(event) {
    const b = canvas.getBoundingClientRect();
    return rect && [rect[0] + ((event.clientY - b.top) / b.height) * (rect[2] - rect[0]),
      rect[1] + ((event.clientX - b.left) / b.width) * (rect[3] - rect[1])];
  }
  function zoom(factor, at) {
    if (!rect) return;
    const [y, x] = at || [(rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2];
    rect = [y + (rect[0] - y) * factor, x + (rect[1] - x) * factor, y + (rect[2] - y) * factor, x + (rect[3] - x) * factor];
    look();
  }
  let drag = null, hovering = false;
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    if (e.shiftKey) send("slice.step", Math.sign(e.deltaY || e.deltaX)); else zoom(e.deltaY > 0 ? 1.25 : 0.8, spot(e));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    drag = { at: [e.clientY, e.clientX], rect: [...rect], moved: false }; canvas.setPointerCapture(e.pointerId); box.focus();
  });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) {
      const b = canvas.getBoundingClientRect(), r = drag.rect;
      const dy = ((e.clientY - drag.at[0]) / b.height) * (r[2] - r[0]), dx = ((e.clientX - drag.at[1]) / b.width) * (r[3] - r[1]);
      drag.moved ||= Math.abs(e.clientY - drag.at[0]) + Math.abs(e.clientX - drag.at[1]) > 3;
      rect = [r[0] - dy, r[1] - dx, r[2] - dy, r[3] - dx]; look();
    } else if (!hovering) {
      hovering = true;
      const where = spot(e);
      requestAnimationFrame(() => { hovering = false; if (where) send("slice.hover", ...where); });
    }
  });
  canvas.addEventListener("pointerup", (e) => {
    const at = spot(e), click = drag && !drag.moved;
    drag = null;
    if (!click || !shown || !at) return;
    send("slice.pin", ...at);
    for (const mark of shown.marks || []) {
      if (mark[4] === "failed" && at[0] >= mark[0] && at[0] < mark[2] && at[1] >= mark[1] && at[1] < mark[3]) send("slice.retry", mark[6]);
    }
  });
  canvas.addEventListener("pointerleave", () => send("slice.leave"));
  canvas.addEventListener("dblclick", fit);
  new ResizeObserver(() => { if (stage.clientWidth) fit(); }).observe(stage);

  // ---------------------------------------------------------------- the panes
  let cleared = 0;
  function paintTree(view) {
    if (view.cleared !== cleared) { cleared = view.cleared; filter.value = ""; }
    const height = view.row_count * ROW;
    const spacer = el("div"); spacer.style.height = height + "px";
    tree.replaceChildren(spacer, ...view.rows.map((row, i) => {
      const line = el("div", {
        class: "zs-row" + (row.path === view.session.path ? " on" : "") + (row.kind ? "" : " dim"), role: "treeitem",
        "aria-level": row.depth + 1, "aria-expanded": row.expandable ? String(row.expanded) : null, "data-path": row.path,
        title: row.badge || row.sentence || [row.path, row.origin].filter(Boolean).join("\n"), onclick: () => send("session.select", row.path),
        ondblclick: () => row.expandable && send("tree.toggle", row.id),
      },
      el("span", { class: "tw", onclick: (e) => { e.stopPropagation(); if (row.expandable) send("tree.toggle", row.id); } },
        row.state === "loading" ? "…" : row.expandable ? (row.expanded ? "▾" : "▸") : ""),
      el("span", { class: "nm" }, (row.dirty ? "• " : "") + row.name),
      row.badge ? el("span", { class: "bd" }, "⚠") : null,
      row.state === "loading" && row.kind ? el("button", { class: "bare", title: view.words.cancel, "aria-label": view.words.cancel,
        onclick: (e) => { e.stopPropagation(); send("tree.cancel", row.id); } }, "×") : null,
      row.retry ? el("button", { class: "bare", onclick: (e) => { e.stopPropagation(); send("tree.retry", row.id); } }, view.words.retry) : null,
      el("span", { class: "dt" }, row.detail || (row.expanded ? row.sentence : "")));
      line.style.top = (view.first_row + i) * ROW + "px";
      line.style.paddingLeft = 4 + row.depth * 14 + "px";
      return line;
    }));
  }
  let asked = -1;
  function askRows() {
    const first = Math.max(0, Math.floor(tree.scrollTop / ROW) - 60);
    if (Math.abs(first - asked) > 40) { asked = first; send("rows", first, first + 200); }
  }
  // A number to type over; one that is refused stands there, marked, with the reason as its title.
  function typed(field, of, text, label, take) {
    const refusal = model.get("view").slice.refusal, refused = refusal.field === `${field}:${of}` || (of === "" && refusal.field === field);
    return el("input", { class: "num" + (refused ? " refused" : ""), value: refused ? refusal.text : text, title: refused ? refusal.sentence : label,
      "aria-label": label, "aria-invalid": String(refused), spellcheck: "false", "data-field": `${field}:${of}`,
      onfocus: (e) => { e.target.select(); delete e.target.dataset.sent; }, onchange: (e) => { e.target.dataset.sent = "1"; take(e.target.value); } });
  }
  function paintImage(view) {
    const s = view.slice;
    if (s.kind !== "image") {
      pane.replaceChildren(el("pre", {}, s.sentence || view.words["no-image"])); return;
    }
    if (imagePane.parentNode !== pane) pane.replaceChildren(imagePane);
    const active = document.activeElement;
    if (controls.contains(active) && active.dataset.field && !active.dataset.sent) { underCursor(); return; }
    if (!controls.contains(active) || active.type !== "range") controls.replaceChildren(...s.axes.filter((a) => a.role === "slider").flatMap((a) => [
      el("span", { class: a.name === s.current_axis ? "cur" : "" }, a.title),
      el("input", { type: "range", min: 0, max: a.length - 1, value: a.index, "aria-label": a.title, "data-axis": a.name,
        oninput: (e) => send("slice.set_index", a.name, +e.target.value), onchange: (e) => e.target.blur() }),
      typed("index", a.name, a.index_text, view.words.index + " " + a.title, (text) => send("slice.type_index", a.name, text)),
      el("span", { class: "num zs-quiet" }, a.end_text),
      a.position ? typed("position", a.name, a.position, view.words.position + " " + a.title, (text) => send("slice.type_position", a.name, text)) : el("span"),
    ]));
    else for (const a of s.axes) for (const [field, text] of [["index", a.index_text], ["position", a.position]]) {
      const at = controls.querySelector(`[data-field="${field}:${CSS.escape(a.name)}"]`);
      if (at) at.value = text;
    }
    underCursor();
    if (channels.contains(active) && active.dataset.field && !active.dataset.sent) return;
    channels.replaceChildren(...s.channels.map((c, i) => el("span", { class: "zs-channel" + (c.visible ? "" : " off") },
      el("input", { type: "color", value: hex(c.color), "aria-label": c.label, onchange: (e) => send("slice.set_color", i, rgb(e.target.value)) }),
      el("label", {}, el("input", { type: "checkbox", checked: c.visible, onchange: (e) => send("slice.set_visible", i, e.target.checked) }), " " + c.label),
      ...(c.is_alpha ? [] : [
      view.colormaps.length ? el("select", { "aria-label": view.words.colormap + " " + c.label, title: view.words.colormap, onchange: (e) => send("slice.set_colormap", i, e.target.value) },
        ...["", ...view.colormaps].map((m) => el("option", { value: m, selected: m === c.colormap }, m || "–"))) : "",
      typed("lo", i, c.lo_text, view.words["limit-lo"] + " " + c.label, (text) => send("slice.type_limit", i, "lo", text)),
      typed("hi", i, c.hi_text, view.words["limit-hi"] + " " + c.label, (text) => send("slice.type_limit", i, "hi", text)),
      el("span", { class: "zs-quiet", title: view.words.gamma }, "γ"),
      typed("gamma", i, c.gamma_text, view.words.gamma + " " + c.label, (text) => send("slice.type_gamma", i, text)),
      s.channels.length > 1 ? el("button", { class: "bare", title: view.words.alone, "aria-label": view.words.alone + " " + c.label, onclick: () => send("slice.show_alone", i) }, "①") : ""]),
    )), s.channels.length ? el("button", { onclick: () => send("slice.auto") }, view.words.auto) : "",
    s.projection.methods.length ? el("span", { class: "zs-channel", title: s.projection.cost }, el("select", { "aria-label": view.words.project, onchange: (e) => send("slice.project", e.target.value) },
      ...[["", view.words["project-off"]], ...s.projection.methods].map(([id, title]) => el("option", { value: id, selected: id === s.projection.method }, title))),
      typed("range", "", s.projection.range_text, view.words["project-range"], (text) => send("slice.type_range", text)),
      el("span", { class: "zs-quiet" }, s.projection.cost)) : "",
    s.channels[0]?.parts.length ? el("select", { "aria-label": view.words.part, title: view.words.part, onchange: (e) => send("slice.set_part", e.target.value) },
      ...s.channels[0].parts.map(([id, title]) => el("option", { value: id, selected: id === s.channels[0].part }, title))) : "",
    ...s.labels.map((l) => el("span", { class: "zs-channel" }, el("label", { title: l.sentence }, el("input", { type: "checkbox", checked: l.visible,
      onchange: (e) => send("slice.set_label", l.path, e.target.checked) }), " " + l.name),
      ...(l.visible ? [typed("label", l.path, l.chosen_text, view.words["only-label"], (text) => send("slice.type_label", l.path, text)),
        el("label", {}, el("input", { type: "checkbox", checked: l.outline, onchange: (e) => send("slice.set_outline", l.path, e.target.checked) }), view.words.outline),
        el("input", { type: "range", min: 0, max: 100, value: Math.round(l.opacity * 100), title: view.words.alpha, "aria-label": view.words.alpha + " " + l.name,
          onchange: (e) => send("slice.set_label", l.path, true, e.target.value / 100) })] : []))));
  }
  const line = (f, more) => el("input", { value: f.text, title: f.title, "data-pointer": f.pointer, spellcheck: "false", onchange: (e) => {
    e.target.dataset.sent = "1"; send("edit.edit", f.pointer, e.target.value); }, ...more });
  const uid = "zs" + Math.random().toString(36).slice(2);
  // One for each editor of the presenters' form fields.
  const EDITORS = {
    line: (f) => [line(f)],
    choice: (f) => [line(f, { list: uid + f.pointer }), el("datalist", { id: uid + f.pointer }, ...f.choices.map((c) => el("option", { value: c })))],
    check: (f) => [el("input", { type: "checkbox", checked: f.text === "true", "data-pointer": f.pointer, onchange: (e) => send("edit.edit", f.pointer, String(e.target.checked)) })],
    colour: (f) => [el("input", { type: "color", value: "#" + f.text, title: f.title, onchange: (e) => send("edit.edit", f.pointer, e.target.value.slice(1).toUpperCase()) }), line(f)],
  };
  function paintForm(view) {
    const edit = view.edit, active = document.activeElement;
    if (pane.contains(active) && active.dataset?.pointer != null && /^(INPUT|TEXTAREA)$/.test(active.tagName) && !active.dataset.sent) return;
    const may = view.editable && edit.status !== "read-only";
    const command = (id, enabled) => el("button", { disabled: !enabled, "data-command": id, onclick: () => send("command", id) }, view.words[id]);
    const bar = el("div", { class: "zs-bar" }, el("span", {}, edit.sentence),
      ...(may ? [command("undo", edit.can_undo), command("redo", edit.can_redo), command("save", edit.can_save)] : []));
    const conflict = edit.status !== "conflict" ? null : el("div", { class: "zs-bar" }, ...edit.conflicts.map((d) => el("pre", {}, `${d.pointer}  ${d.mine}  |  ${d.theirs}`)),
      ...["mine", "theirs"].map((whose) => el("button", { onclick: () => send("edit.resolve", whose) }, view.words[whose] || whose)));
    const diff = view.diff ? el("pre", { class: "zs-diff" }, ...view.diff.split("\n").map((line) =>
      el("div", { class: /^\+(?!\+\+)/.test(line) ? "add" : /^-(?!--)/.test(line) ? "del" : "" }, line))) : null;
    const ways = view.ways.length < 2 ? null : el("div", { class: "zs-bar zs-ways" }, ...view.ways.map(([way, title]) =>
      el("button", { "aria-pressed": String(way === edit.way), class: way === edit.way ? "on" : "", "data-way": way, onclick: () => send("edit.show_way", way) }, title)));
    const meaning = edit.way !== "image" ? null : el("div", { class: "zs-form zs-sections" }, ...edit.sections.flatMap((s) => [el("h4", {}, s.title),
      ...s.rows.map((r) => {
        const wrong = r.fields.map((f) => f.error).find(Boolean);
        return el("div", { class: "zs-field" + (r.fields.some((f) => f.changed) ? " changed" : "") }, el("span", { class: "lb" }, r.label),
          ...r.fields.flatMap((f) => may ? (EDITORS[f.editor] || EDITORS.line)(f).concat(f.editor === "check" ? [el("span", {}, f.title)] : []) : [el("span", { title: f.title }, f.editor === "check" ? f.title + ": " + f.summary : f.summary)]),
          wrong ? el("span", { class: "er" }, wrong) : el("span", { class: "zs-quiet" }, r.note));
      }), ...s.notes.map((n) => el("p", { class: "zs-quiet" }, n))]), edit.verdict ? el("p", {}, edit.verdict) : "");
    const json = edit.way !== "json" ? null : el("div", { class: "zs-form" }, el("textarea", { class: "zs-json", spellcheck: "false", readOnly: !may, "data-pointer": "text",
      onchange: (e) => { e.target.dataset.sent = "1"; send("edit.edit_text", e.target.value); } }, edit.text), edit.text_error ? el("p", { class: "er" }, edit.text_error) : "");
    const form = meaning || json || el("div", { class: "zs-form" }, ...edit.fields.map((f) => {
      const row = el("div", { class: "zs-field" + (f.changed ? " changed" : "") });
      row.style.paddingLeft = f.depth * 16 + "px";
      const nested = f.kind === "list" || f.kind === "object";
      row.append(el("span", { class: "lb", onclick: () => nested && send("edit.fold", f.pointer, !f.folded) }, (nested ? (f.folded ? "▸ " : "▾ ") : "") + f.label));
      if (nested || !may) row.append(el("span", { class: nested ? "zs-quiet" : "" }, f.summary));
      else row.append(...(EDITORS[f.editor] || EDITORS.line)(f));
      if (may && f.can_remove) row.append(el("button", { class: "bare", title: view.words.remove, "aria-label": view.words.remove, onclick: () => send("edit.remove", f.pointer) }, "×"));
      if (f.error) row.append(el("span", { class: "er" }, f.error));
      return row;
    }));
    const name = el("input", { size: 14 }), value = el("input", { size: 20 });
    const add = may && !meaning && !json ? el("div", { class: "zs-field" }, name, value, el("button", { onclick: () => name.value && send("edit.add_typed", "", name.value, value.value) }, "+")) : null;
    const kept = pane.scrollTop;
    pane.replaceChildren(...[ways, bar, conflict, form, add, diff].filter(Boolean));
    pane.scrollTop = kept;
  }
  function paintInfo(view) {
    const info = view.info;
    const kept = pane.scrollTop;
    pane.replaceChildren(el("div", { class: "zs-info" }, el("div", {}, info.subtitle), ...(info.problem ? [el("p", {}, "⚠ " + info.problem)] : []),
      ...info.warnings.map((w) => el("p", {}, "⚠ " + w)), ...info.sections.map((s) => el("section", {}, el("h4", {}, s.title),
        el("dl", {}, ...s.items.flatMap((i) => [el("dt", {}, i.label), el("dd", { title: i.hint }, i.text)])))),
      ...(info.documents.length ? info.documents.flatMap(([key, text]) => [el("h4", {}, key), el("pre", {}, text)])
        : [el("button", { disabled: info.loading, onclick: () => send("metadata.load_documents") }, view.words.document)])));
    pane.scrollTop = kept;
  }
  function paintValues(view) {
    const t = view.table;
    pane.replaceChildren(el("pre", {}, t.sentence), el("table", {}, el("tr", {}, el("th"), ...t.heads.map((h) => el("th", {}, h))),
      ...t.cells.map((row, r) => el("tr", {}, el("th", {}, t.sides[r]), ...row.map((c) => el("td", {}, c))))));
  }
  function paintChunks(view) {
    const kept = pane.scrollTop;
    pane.replaceChildren(el("pre", {}, view.chunks));
    pane.scrollTop = kept;
  }
  function paintProblems(view) {
    pane.replaceChildren(el("div", { class: "zs-info" }, el("p", {}, view.problems_text),
      ...view.problems.map((p) => el("p", { title: p.details }, "⚠ " + p.headline))));
  }

  function paintBlocks(view) {
    pane.replaceChildren(...view.blocks.map(([kind, what]) => kind === "picture" ? el("img", { src: what })
      : kind === "table" ? el("table", {}, ...what.map((row, r) => el("tr", {}, ...row.map((cell) => el(r ? "td" : "th", {}, cell)))))
      : el("pre", {}, what)));
  }
  // One painter for each view of the presenters' table; the content comes from views.py.
  const PAINTERS = { image: paintImage, values: paintValues, attributes: paintForm, chunks: paintChunks, info: paintInfo, problems: paintProblems };

  let questioned = false, painted = "";
  function ask(on) { questioned = on; painted = ""; update(); }
  function paintQuestion(q) {
    if (!q) questioned = false;
    question.style.display = questioned ? "" : "none";
    if (!questioned || painted === JSON.stringify(q)) return;  // what is being typed stays
    painted = JSON.stringify(q);
    const inputs = q.fields.map((f) => f.yes_or_no ? el("input", { type: "checkbox", checked: !!f.value })
      : el("input", { value: f.value, placeholder: f.hint, list: f.choices.length ? `zs-${f.name}` : undefined }));
    const values = () => Object.fromEntries(q.fields.map((f, i) => [f.name, f.yes_or_no ? (inputs[i].checked ? "1" : "") : inputs[i].value]));
    question.replaceChildren(el("p", {}, q.sentence),
      ...q.fields.map((f, i) => el("label", { class: f.yes_or_no ? "flag" : "" }, ...(f.yes_or_no ? [inputs[i], f.label] : [el("span", {}, f.label), inputs[i]]),
        f.choices.length ? el("datalist", { id: `zs-${f.name}` }, ...f.choices.map((c) => el("option", { value: c }))) : "")),
      el("p", { class: "quiet" }, q.note), el("button", { onclick: () => { const given = values(); ask(false); send("session.use_credentials", given); } }, q.confirm));
  }

  function update() {
    const view = model.get("view");
    if (!view.session) return;
    const s = view.session;
    head.replaceChildren(el("button", { class: "bare", title: view.words.tree, "aria-label": view.words.tree, onclick: () => { side.hidden = !side.hidden; side.style.display = side.hidden ? "none" : ""; } }, "☰"),
      el("span", { class: "zs-crumbs" }, ...s.crumbs.flatMap(([label, path], i) => [i ? " ▸ " : "", el("a", { onclick: () => send("session.select", path) }, label)])),
      el("span", { class: "zs-facts" }, s.facts));
    errorBar.style.display = s.sentence || s.offers.length ? "" : "none";
    errorBar.replaceChildren(el("span", { title: s.details }, s.sentence || view.info.problem), s.retry ? el("button", { onclick: () => send("session.retry") }, view.words.retry) : "",
      ...s.offers.map((offer) => el("button", { onclick: () => offer === "credentials" ? ask(!questioned) : send("command", offer) }, view.words[offer])),
      el("button", { class: "bare", title: view.words.dismiss, "aria-label": view.words.dismiss, onclick: () => send("session.dismiss") }, "×"));
    paintQuestion(view.credentials);
    filter.placeholder = view.words.find; filter.setAttribute("aria-label", view.words.find);
    tabs.replaceChildren(...s.tabs.map((t) => el("button", { role: "tab", class: t.id === s.tab ? "on" : "", disabled: !t.enabled, "data-tab": t.id,
      "aria-selected": String(t.id === s.tab), onclick: () => send("session.set_tab", t.id) }, t.title)));
    status.textContent = s.status_text;
    box.dataset.status = s.status; box.dataset.path = s.path; box.dataset.tab = s.tab;
    paintTree(view);
    (PAINTERS[s.tab] || paintBlocks)(view);
  }

  box.addEventListener("keydown", (e) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
      // Left to the notebook, Enter and letters would be its commands instead of what is typed here.
      e.stopPropagation();
      if (e.key === "Enter") e.target.blur();
      return;
    }
    const names = { ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", " ": "Space", PageUp: "PgUp", PageDown: "PgDown" };
    const key = names[e.key] || (e.key.length === 1 ? e.key.toUpperCase() : e.key);
    const id = model.get("view").keys?.[(e.shiftKey && e.key.length > 1 ? "Shift+" : "") + key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (id === "zoom-in") zoom(0.8); else if (id === "zoom-out") zoom(1.25); else if (id === "fit") fit();
    else if (id) send("command", id);
    else if (/^[1-9]$/.test(key)) send("channel", +key);
    else if (/^[A-Z]$/.test(key)) send("axis", key);
    else return;
    e.preventDefault(); e.stopPropagation();
  });
  const timer = setInterval(() => {
    const view = model.get("view");
    if (view.slice?.axes.some((a) => a.playing)) send("slice.tick");
  }, 100);
  function underCursor() {
    const p = model.get("probe"), refused = model.get("view").slice?.refusal?.sentence;
    const m = model.get("view").slice?.measurement;
    const measured = m?.kind ? m.sentence || m.rows.map((r) => `${r.label}: ${r.text}`).join("   ") || m.title : "";
    probe.textContent = [refused, measured || p.text || p.sentence].filter(Boolean).join("   "); probe.title = probe.textContent;
    canvas.title = p.why || "";
  }
  model.on("change:probe", underCursor);
  model.on("change:view", update);
  model.on("change:picture", picture);
  model.on("change:frame", picture);
  update(); picture();
  return () => { clearInterval(timer); model.off("change:view", update); model.off("change:probe", underCursor); model.off("change:picture", picture); model.off("change:frame", picture); };
}

export default { render };
