// The tree, with mouse and keyboard. The browser has only the rows around the visible ones.
const ROW = 22;

function makeTree(ui) {
  let cleared = 0, asked = 0, cursor = 0;
  const filter = el("input", { type: "search", oninput: () => ui.line.push("filter", "tree.filter", filter.value),
    onkeydown: (e) => { if (e.key === "Enter") ui.line.send("name", filter.value); if (e.key === "ArrowDown") list.focus(); } });
  const list = el("div", { class: "zs-tree", role: "tree", tabindex: "0", onscroll: ask, onkeydown: keys });
  const node = el("div", { class: "zs-side" }, filter, list);

  function row(row, place) {
    const send = (what) => (e) => { e.stopPropagation(); ui.line.send("tree." + what, row.id); };
    const line = el("div", {
      class: "zs-row" + (row.path === ui.place.path ? " on" : "") + (row.kind ? "" : " dim"), role: "treeitem",
      "aria-level": row.depth + 1, "aria-expanded": row.expandable ? String(row.expanded) : null, "aria-selected": String(row.path === ui.place.path), "data-path": row.path,
      title: row.badge || row.sentence || [row.path, row.origin].filter(Boolean).join("\n"),
      onclick: () => { cursor = place; ui.line.send("session.select", row.path); },
      ondblclick: () => row.expandable && ui.line.send("tree.toggle", row.id),
    },
    el("span", { class: "tw", onclick: (e) => { e.stopPropagation(); if (row.expandable) ui.line.send("tree.toggle", row.id); } },
      row.state === "loading" ? "…" : row.expandable ? (row.expanded ? "▾" : "▸") : ""),
    el("span", { class: "ic ic-" + row.icon }),
    el("span", { class: "nm" }, (row.dirty ? "• " : "") + row.name),
    row.badge ? el("span", { class: "bd" }, "⚠") : null,
    row.state === "loading" && row.kind ? icon(ui, "×", "cancel", send("cancel")) : null,
    row.offer ? el("button", { class: "bare", onclick: (e) => { e.stopPropagation(); ui.ask(true); } }, ui.words[row.offer]) : null,
    row.retry ? el("button", { class: "bare", onclick: send("retry") }, ui.words.retry) : null,
    el("span", { class: "dt" }, row.detail || (row.expanded ? row.sentence : "")));
    line.style.top = place * ROW + "px";
    line.style.paddingLeft = 4 + row.depth * 14 + "px";
    return line;
  }
  const show = painter((told) => {
    const spacer = el("div");
    spacer.style.height = told.count * ROW + "px";
    refill(list, spacer, told.rows.map((each, i) => row(each, told.first + i)));
  });
  const at = (place) => ui.tree.rows[place - ui.tree.first];
  function ask() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 60);
    if (Math.abs(first - asked) > 40) { asked = first; ui.line.push("rows", "rows", first, first + 200); }
  }
  function go(place) {
    cursor = Math.max(0, Math.min(ui.tree.count - 1, place));
    const top = cursor * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    ask();
    if (at(cursor)) ui.line.push("select", "session.select", at(cursor).path);
  }
  function keys(e) {
    const here = ui.tree.rows.findIndex((r) => r.path === ui.place.path);
    if (here >= 0 && Math.abs(ui.tree.first + here - cursor) > 1) cursor = ui.tree.first + here;
    const shown = at(cursor), page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const acts = {
      ArrowDown: () => go(cursor + 1), ArrowUp: () => go(cursor - 1), PageDown: () => go(cursor + page), PageUp: () => go(cursor - page), Home: () => go(0), End: () => go(ui.tree.count - 1),
      ArrowRight: () => shown?.expandable && !shown.expanded ? ui.line.send("tree.expand", shown.id) : go(cursor + 1),
      ArrowLeft: () => { if (shown?.expanded) ui.line.send("tree.collapse", shown.id); else if (shown?.depth) { let k = cursor - 1; while (at(k) && at(k).depth >= shown.depth) k--; go(k); } },
      Enter: () => shown?.expandable && ui.line.send("tree.toggle", shown.id), "*": () => shown?.expandable && ui.line.send("tree.expand", shown.id),
    };
    if (e.ctrlKey || e.metaKey || e.altKey || !acts[e.key]) return;
    acts[e.key]();
    e.preventDefault(); e.stopPropagation();
  }
  return {
    node, filter, list,
    paint() {
      if (ui.place.cleared !== cleared) { cleared = ui.place.cleared; filter.value = ""; }
      filter.placeholder = ui.words["search-tree"]; filter.setAttribute("aria-label", ui.words["search-tree"]);
      show({ ...ui.tree, selected: ui.place.path });
    },
  };
}
