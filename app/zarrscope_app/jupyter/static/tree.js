// The tree, with mouse and keyboard. The browser has only the rows around the visible ones.
const ROW = 22;
const SHOWN = ["array", "image", "plate"];  // rows whose node is looked at; after a group, the next click is on another row

function makeTree(ui) {
  const uid = "zs" + Math.random().toString(36).slice(2);
  let cleared = 0, asked = 0, cursor = 0;
  const filter = el("input", { type: "search", oninput: () => ui.line.push("filter", "tree.filter", filter.value),
    onkeydown: (e) => { if (e.key === "Enter") ui.line.send("name", filter.value); if (e.key === "ArrowDown") list.focus(); } });
  const list = el("div", { class: "zs-tree", role: "tree", "aria-multiselectable": "true", tabindex: "0", "aria-label": ui.words.tree, onscroll: ask, onkeydown: keys });
  const further = el("input", { hidden: true, spellcheck: "false", onkeydown: (e) => {
    if (e.key === "Enter" && further.value.trim()) ui.line.send("add", further.value);
    if (e.key === "Enter" || e.key === "Escape") { further.value = ""; further.hidden = true; }
  } });
  const add = el("button", { class: "bare", "data-command": "add", onclick: () => { further.hidden = !further.hidden; if (!further.hidden) further.focus(); } }, "+");
  const close = el("button", { class: "bare", "data-command": "close-place", onclick: () => ui.line.send("close-place") }, "×");
  const node = el("div", { class: "zs-side" }, el("div", { class: "zs-find" }, filter, add, close), further, list);
  const here = (row) => row.path === ui.place.path && !row.elsewhere;
  // Nodes that are selected together are marked in place of the displayed one.
  const chosen = (row) => (ui.place.together?.length ? ui.place.together.includes(row.path) && !row.elsewhere : here(row));

  function row(row, place) {
    const send = (what) => (e) => { e.stopPropagation(); ui.line.send("tree." + what, row.id); };
    const line = el("div", {
      class: "zs-row" + (chosen(row) ? " on" : "") + (row.kind ? "" : " dim"), role: "treeitem",
      "aria-level": row.depth + 1, "aria-expanded": row.expandable ? String(row.expanded) : null, "aria-selected": String(chosen(row)), "data-path": row.path,
      id: uid + row.id, "aria-label": [(row.dirty ? "• " : "") + row.name, row.detail, row.badge].filter(Boolean).join(", "),
      title: [row.badge || row.sentence, row.path, row.detail, row.origin].filter(Boolean).join("\n"),
      onclick: (e) => {
        cursor = place;
        if (e.ctrlKey || e.metaKey || e.shiftKey) { ui.line.send("together", row.id, e.shiftKey); return; }
        ui.line.send("go", row.id);
        if (SHOWN.includes(row.icon)) ui.uncover();
      },
      ondblclick: (e) => !e.ctrlKey && !e.metaKey && !e.shiftKey && row.expandable && ui.line.send("tree.toggle", row.id),
    },
    el("span", { class: "tw", onclick: (e) => { e.stopPropagation(); if (row.expandable) ui.line.send("tree.toggle", row.id); } },
      row.state === "loading" ? "…" : row.expandable ? (row.expanded ? "▾" : "▸") : ""),
    el("span", { class: "ic ic-" + row.icon }),
    el("span", { class: "nm" }, (row.dirty ? "• " : "") + row.name),
    row.badge ? el("span", { class: "bd" }, "⚠") : null,
    row.state === "loading" && row.kind ? icon(ui, "×", "cancel", send("cancel")) : null,
    row.offer ? el("button", { class: "bare", onclick: (e) => { e.stopPropagation(); if (row.elsewhere) ui.line.send("go", row.id); ui.ask(true, row.elsewhere); } }, ui.words[row.offer]) : null,
    row.retry ? el("button", { class: "bare", onclick: send("retry") }, ui.words.retry) : null,
    el("span", { class: "dt short" }, el("span", {}, row.detail || (row.expanded ? row.sentence : ""))));
    line.style.top = place * ROW + "px";
    line.style.paddingLeft = 4 + row.depth * 14 + "px";
    line.style.setProperty("--deep", row.depth * 14 + "px");
    return line;
  }
  // Rows that are the same as before keep their elements: 200 rows take 60 ms to make and to lay out, at each arrival of some.
  const spacer = el("div");
  list.append(spacer);
  let made = new Map();
  const show = painter((told) => {
    const before = made;
    made = new Map(told.rows.map((each, i) => [JSON.stringify([each, told.first + i, chosen(each)]), i]));
    for (const [key, i] of made) made.set(key, before.get(key) || row(told.rows[i], told.first + i));
    for (const [key, line] of before) if (!made.has(key)) line.remove();
    spacer.style.height = told.count * ROW + "px";
    let last = spacer;
    for (const line of made.values()) { if (last.nextSibling !== line) last.after(line); last = line; }
  });
  const at = (place) => ui.tree.rows[place - ui.tree.first];
  function ask() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 60);
    if (Math.abs(first - asked) > 40) { asked = first; ui.line.push("rows", "rows", first, first + 200); }
  }
  function go(place, through = false) {
    cursor = Math.max(0, Math.min(ui.tree.count - 1, place));
    const top = cursor * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    ask();
    active();
    if (at(cursor)) ui.line.push("select", ...(through ? ["together", at(cursor).id, true] : ["go", at(cursor).id]));
  }
  // The row under the cursor is the one of the displayed node, unless keys have just moved beside it.
  function follow() {
    const selected = ui.tree.rows.findIndex(here);
    if (selected >= 0 && !ui.place.together?.length && Math.abs(ui.tree.first + selected - cursor) > 1) cursor = ui.tree.first + selected;
  }
  // Says the row under the cursor to screen readers.
  function active() {
    follow();
    const id = at(cursor)?.id;
    if (id == null) list.removeAttribute("aria-activedescendant"); else list.setAttribute("aria-activedescendant", uid + id);
  }
  function keys(e) {
    follow();
    const shown = at(cursor), page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const acts = {
      ArrowDown: () => go(cursor + 1, e.shiftKey), ArrowUp: () => go(cursor - 1, e.shiftKey), PageDown: () => go(cursor + page), PageUp: () => go(cursor - page), Home: () => go(0), End: () => go(ui.tree.count - 1),
      ArrowRight: () => shown?.expandable && !shown.expanded ? ui.line.send("tree.expand", shown.id) : go(cursor + 1),
      ArrowLeft: () => { if (shown?.expanded) ui.line.send("tree.collapse", shown.id); else if (shown?.depth) { let k = cursor - 1; while (at(k) && at(k).depth >= shown.depth) k--; go(k); } },
      Enter: () => shown?.expandable && ui.line.send("tree.toggle", shown.id), "*": () => shown?.expandable && ui.line.send("tree.expand", shown.id),
    };
    const all = (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "a";
    if (!all && (e.ctrlKey || e.metaKey || e.altKey || !acts[e.key])) return;
    ui.toForm = all;  // the form of all nodes gets the keys as soon as it is there, unless another key goes on in the tree
    if (all) ui.line.send("all"); else acts[e.key]();
    e.preventDefault(); e.stopPropagation();
  }
  return {
    node, filter, list,
    paint() {
      if (ui.place.cleared !== cleared) { cleared = ui.place.cleared; filter.value = ""; }
      filter.placeholder = ui.words["search-tree"]; filter.setAttribute("aria-label", ui.words["search-tree"]);
      further.placeholder = ui.words["open-url-title"];
      for (const [node, word] of [[further, "open-url-title"], [add, "add-place"], [close, "close-place"]]) { node.title = ui.words[word]; node.setAttribute("aria-label", ui.words[word]); }
      close.hidden = !ui.place.several;
      show({ ...ui.tree, selected: ui.place.path, together: ui.place.together });
      active();
    },
  };
}
