// The attributes, shown in one of three ways: as sections by meaning, as all members, as JSON text. Nothing is written
// before Save.
function makeForm(ui) {
  const node = el("div", { class: "zs-attributes", oninput: (e) => { delete e.target.dataset.sent; typing(); } });
  // A typed text can be saved before its field is left: a press on Save leaves it.
  function typing() { const save = node.querySelector("[data-command=save]"); if (save) save.disabled = false; }
  // Whether an element is a field into which a text is typed.
  const isField = (it) => node.contains(it) && it.dataset.pointer != null && /^(INPUT|TEXTAREA)$/.test(it.tagName) && it.type !== "checkbox";
  const uid = "zs" + Math.random().toString(36).slice(2);
  const line = (f, more) => el("input", { value: f.text, title: f.title, "aria-label": f.label || f.title, "data-pointer": f.pointer, placeholder: f.differs || null, spellcheck: "false", onchange: (e) => {
    e.target.dataset.sent = "1"; ui.line.send("edit.edit", f.pointer, e.target.value); }, onfocus: (e) => { delete e.target.dataset.sent; }, ...more });
  // A browser paints a colour that is not stated as black; the style sheet paints the swatch as empty instead.
  const swatch = (text) => (/^[0-9a-f]{6}/i.test(text) ? { value: "#" + text.slice(0, 6) } : { class: "none" });
  // The widgets for each editor that a form field of the presenters may name.
  const EDITORS = {
    line: (f) => [line(f)],
    choice: (f) => [line(f, { list: uid + f.pointer }), el("datalist", { id: uid + f.pointer }, f.choices.map((c) => el("option", { value: c })))],
    check: (f) => [el("input", { type: "checkbox", checked: f.text === "true", "aria-label": f.label || f.title, "data-pointer": f.pointer, onchange: (e) => ui.line.send("edit.edit", f.pointer, String(e.target.checked)) })],
    colour: (f) => [el("input", { type: "color", ...swatch(f.text), title: f.title, "aria-label": f.label || f.title, onchange: (e) => ui.line.send("edit.edit", f.pointer, e.target.value.slice(1).toUpperCase()) }), line(f)],
    date: (f) => [line(f)],
  };
  // The least and the greatest width of each column, by the editor of its fields: a channel fits into 460 pixels.
  const WIDTHS = { check: "max-content", colour: "minmax(84px, 110px)", choice: "minmax(84px, 160px)", number: "minmax(52px, 100px)", date: "minmax(84px, 168px)", line: "minmax(72px, 240px)" };
  const width = (f) => (f.kind === "number" && WIDTHS.number) || WIDTHS[f.editor] || WIDTHS.line;
  // Fields that stand side by side form columns with headings, as in the window; a lone field takes the whole row.
  function columns(s, may) {
    const widest = s.rows.reduce((a, r) => (r.fields.length > a.length ? r.fields : a), []), many = widest.length > 1;
    // A heading holds for all rows: "colour", but not "unit of y".
    const heads = widest.map((f, at) => (s.rows.every((r) => r.fields.length < widest.length || r.fields[at].title === f.title) ? f.title : ""));
    const cell = (f, alone, at = 0) => {
      const titled = alone || !many ? [el("span", {}, f.title)] : [];  // a check box has a heading or a text beside it
      const node = el("div", { class: "zs-cell" }, may ? (EDITORS[f.editor] || EDITORS.line)(f).concat(f.editor === "check" ? titled : [])
        : el("span", { title: f.title }, f.editor === "check" && titled.length ? f.title + ": " + f.summary : f.summary));
      // An empty field without a heading says its meaning itself.
      if (many && !alone && !heads[at] && !f.differs) node.querySelector("input:not([type])")?.setAttribute("placeholder", f.title);
      if (alone) node.style.gridColumn = "2 / -2";
      return node;
    };
    const grid = el("div", { class: "zs-columns" }, many && heads.some(Boolean) ? [el("span"), heads.map((head) => el("span", { class: "zs-quiet hd" }, head)), el("span")] : "",
      s.rows.map((r) => {
        const wrong = r.fields.map((f) => f.error).find(Boolean), alone = r.fields.length === 1 && many;
        return el("div", { class: "zs-field" + (r.fields.some((f) => f.changed) ? " changed" : "") }, el("span", { class: "lb" }, r.label), r.fields.map((f, at) => cell(f, alone, at)),
          Array.from({ length: alone ? 0 : widest.length - r.fields.length }, () => el("span")), el("span", { class: "zs-quiet nt" }, r.note), wrong ? el("span", { class: "er" }, wrong) : "");
      }));
    grid.style.gridTemplateColumns = ["max-content", ...(many ? widest.map(width) : ["minmax(84px, 26em)"]), "minmax(0, 1fr)"].join(" ");
    return grid;
  }
  function sections(edit, may) {
    return el("div", { class: "zs-form zs-sections" }, edit.sections.map((s) => [el("h4", {}, s.title), columns(s, may), s.notes.map((n) => el("p", { class: "zs-quiet" }, n))]),
      edit.verdict ? el("p", {}, edit.verdict) : "");
  }
  let written = "";  // the text that was sent last
  function sendText(typed, { whole, start, end }) {
    const before = ui.panel.edit.text, now = whole.slice(0, start) + typed + whole.slice(end);
    written = now;
    const [from, to, put] = before === whole ? textEdit(whole.slice(start, end), typed) : textEdit(before, now), by = before === whole ? start : 0;
    ui.line.send("edit-text", by + from, by + to, put, checksum(now));
  }
  // A browser lays out all lines of a text at once, for each key: seconds for megabytes. A long text is shown by pages.
  const PAGE = 1 << 16;
  let page = 0, pages = [], paged = null, faulty = 0, version = 0;
  // Where the pages of a text begin, mostly after the end of a line, and the numbers of these lines.
  function pagesOf(whole) {
    if (whole === paged) return pages;
    paged = whole; pages = [[0, 1]]; version++;
    for (let at = 0, number = 1; whole.length - at > PAGE; pages.push([at, number])) {
      const after = (sign) => { const end = whole.slice(at, at + PAGE).lastIndexOf(sign) + 1; return end && at + end; };
      const end = after("\n") || after(",") || at + PAGE - (whole.codePointAt(at + PAGE - 1) > 0xffff);
      for (let line = whole.indexOf("\n", at); line >= 0 && line < end; line = whole.indexOf("\n", line + 1)) number++;
      at = end;
    }
    return pages;
  }
  // The part of the text that is shown. The fault of a text is in front when it appears.
  function partOf({ text, text_line }) {
    const starts = pagesOf(text);
    if (text_line && text_line !== faulty) page = starts.findLastIndex(([, number]) => number <= text_line);
    faulty = text_line;
    page = Math.max(0, Math.min(page, starts.length - 1));
    const [start, first] = starts[page], [next, line] = starts[page + 1] || [text.length, 0];
    const end = next - (line > 0 && text[next - 1] === "\n"), last = line ? line - (end < next) : first + text.slice(start).split("\n").length - 1;
    return { start, end, first, last, count: starts.length };
  }
  function text(edit, may) {
    const whole = edit.text, part = partOf(edit);
    const area = el("textarea", { class: "zs-json", spellcheck: "false", readOnly: !may, "data-pointer": "text",
      onchange: ({ target }) => { target.dataset.sent = "1"; sendText(target.value, target.zsPart); } }, whole.slice(part.start, part.end));
    area.zsPart = { ...part, whole };
    const turn = (sign, word, by) => el("button", { title: ui.words[word], "aria-label": ui.words[word], "data-page": by, disabled: !pages[page + by], onclick: () => { page += by; paint(); node.querySelector("textarea").scrollTop = 0; } }, sign);
    return el("div", { class: "zs-form" }, part.count < 2 ? "" : el("div", { class: "zs-bar" }, turn("◂", "lines-before", -1), el("span", {}, `${ui.words.lines} ${part.first}–${part.last}`), turn("▸", "lines-after", 1)),
      area, edit.text_error ? el("p", { class: "er" }, edit.text_error) : "");
  }
  function members(edit, may) {
    const list = el("div", { class: "zs-form zs-members" }, edit.fields.map((f) => {
      const nested = f.kind === "list" || f.kind === "object";
      const row = el("div", { class: "zs-field" + (f.changed ? " changed" : "") },
        nested ? el("button", { class: "zs-fold", "aria-expanded": String(!f.folded), onclick: () => ui.line.send("edit.fold", f.pointer, !f.folded) }, (f.folded ? "▸ " : "▾ ") + f.label) : el("span", { class: "lb" }, f.label),
        nested || !may ? el("span", { class: nested ? "zs-quiet" : "" }, f.summary) : (EDITORS[f.editor] || EDITORS.line)(f),
        may && f.can_remove ? icon(ui, "×", "remove", () => ui.line.send("edit.remove", f.pointer)) : "", f.error ? el("span", { class: "er" }, f.error) : "");
      row.style.paddingLeft = f.depth * 16 + "px";
      return row;
    }));
    if (!may) return list;
    const name = el("input", { size: 14, placeholder: ui.words.name, "aria-label": ui.words["add-name"] }), value = el("input", { size: 20, placeholder: ui.words.value, "aria-label": ui.words["value-typed"], title: ui.words["value-typed"] });
    const add = () => name.value && ui.line.send("edit.add_typed", "", name.value, value.value);
    list.append(el("div", { class: "zs-field zs-add", onkeydown: (e) => { if (e.key === "Enter" && e.target !== e.currentTarget.lastChild) add(); } }, name, value, el("button", { onclick: add }, ui.words.add)));
    return list;
  }
  // The whole text is no part of what is compared before painting: `version` stands for it.
  const show = painter(({ edit: shown, ways, diff }, may, held, whole) => {
    const edit = { ...shown, text: whole };
    const command = (id, enabled) => el("button", { disabled: !enabled, "data-command": id, onclick: () => ui.line.send("command", id) }, ui.words[id]);
    const conflict = edit.status !== "conflict" ? "" : el("div", { class: "zs-conflict" },
      edit.conflicts.length ? el("table", {}, el("tr", {}, el("th"), el("th", {}, ui.words.mine), el("th", {}, ui.words.theirs)),
        edit.conflicts.map((d) => el("tr", {}, el("th", { title: d.pointer }, d.path ? `${d.path} ${d.name || d.pointer}` : d.name || d.pointer), ["mine", "theirs"].map((whose) => el("td", {}, el("button", { class: whose === d.choice ? "on" : "", "aria-pressed": String(whose === d.choice), "data-side": whose, onclick: () => ui.line.send("edit.choose", d.pointer, whose, d.path) }, d[whose] ?? "–")))))) : "",
      [["mine", "keep-mine"], ["theirs", "take-theirs"], ["chosen", "merge"]].map(([whose, word]) => el("button", { "data-whose": whose, disabled: whose === "chosen" && edit.conflicts.some((d) => !d.choice), onclick: () => ui.line.send("edit.resolve", whose) }, ui.words[word])));
    const children = [
      el("div", { class: "zs-bar" },
        ways.length < 2 ? "" : el("div", { class: "zs-ways" }, ways.map(([way, title]) =>
          el("button", { "aria-pressed": String(way === edit.way), class: way === edit.way ? "on" : "", "data-way": way, onclick: () => ui.line.send("edit.show_way", way) }, title))),
        el("span", {}, edit.sentence), edit.shows_document ? el("button", { "data-document": "", onclick: () => ui.line.send("edit.show_way", "document") }, edit.shows_document) : "", may ? [command("undo", edit.can_undo), command("redo", edit.can_redo), command("revert", edit.changes > 0), command("save", edit.can_save)] : ""),
      conflict, edit.way === "image" ? sections(edit, may) : edit.way === "json" || edit.way === "document" ? text(edit, may) : members(edit, may),
      diff ? el("pre", { class: "zs-diff" }, diff.split("\n").map((each) => el("div", { class: /^\+(?!\+\+)/.test(each) ? "add" : /^-(?!--)/.test(each) ? "del" : "" }, each))) : ""];
    if (refillAround(node, children, held, "pointer")) typing();
  });
  let of = "";
  function paint() {
    const active = focused(ui.box);
    const { edit, ways } = ui.panel, diff = ui.diff, pointer = node.contains(active) ? active.dataset?.pointer : null;
    const now = JSON.stringify([ui.place.turn, ui.place.path, ui.place.together]), held = now === of && isField(active) ? active : null;
    if (now !== of) page = faulty = 0;
    of = now;  // a text that was typed for one node is none for the next
    if (edit.text) partOf(edit);
    show({ edit: { ...edit, text: version }, ways, diff, page }, ui.editable && edit.status !== "read-only", held, edit.text);
    if (pointer && !node.contains(focused(ui.box))) node.querySelector(`input[data-pointer="${CSS.escape(pointer)}"]`)?.focus();
    const first = ui.toForm && ui.place.together?.length && ways.length < 2 && node.querySelector(".zs-sections")?.querySelector("input:not([type])");
    if (!first) return;
    ui.toForm = false;
    if (active?.classList.contains("zs-tree")) { first.focus(); first.select(); }
  }
  return {
    node, paint,
    // The kernel had another text than this page: it gets the whole.
    sendWhole() { ui.line.send("edit.edit_text", written); },
  };
}
