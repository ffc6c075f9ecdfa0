const PARTS = ["texts", "place", "status", "tree", "image", "places", "channels", "panel", "diff", "export"];
const NARROW = 720, SHORT = 340;
const FIRST_PATIENCE = 3000;  // milliseconds without any message, after which the widget gives way to the still page of its cell
const LONGEST_PRESS = 20000;  // milliseconds after which changes are painted although a button is pressed
const RELEASES = ["pointerup", "pointercancel"];
const WEBP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==";  // one pixel

function render({ model, el: root }) {
  const ui = { holds: false };
  const read = () => {
    const changes = model.get("changes") || {};
    for (const name of PARTS) ui[name] = patched(model.get(name), changes[name]);
    Object.assign(ui, { words: ui.texts.words || {}, keys: ui.texts.keys || {}, editable: ui.texts.editable });
  };
  read();
  const deadBar = el("div", { class: "zs-state", role: "status" });
  ui.line = lineTo(model, () => ui.place.turn, (busy, dead) => {
    ui.box.dataset.kernel = dead ? "dead" : busy ? "busy" : "";
    deadBar.hidden = !busy && !dead;
    refill(deadBar, el("span", {}, dead ? ui.words.dead : busy ? ui.words.busy : ""),
      dead ? el("button", { onclick: (e) => { if (!runAgain(root)) e.target.disabled = true; } }, ui.words["start-again"]) : "");
  });
  ui.copied = async (text) => { say(await copyText(text) ? ui.words.copied : ui.words["not-copied"], text); };

  const head = el("div", { class: "zs-head" }), errorBar = el("div", { class: "zs-error-bar", role: "alert" }), question = el("div", { class: "zs-question", style: "display: none" });
  const tabs = el("div", { class: "zs-tabs", role: "tablist" }), pane = el("div", { class: "zs-pane", role: "tabpanel" }), over = el("div", { class: "zs-pane zs-dialog", role: "dialog", hidden: true });
  const probe = el("span", { class: "probe" }), jobs = el("span", { class: "zs-jobs" }), status = el("span", { class: "zs-quiet" });
  const stop = el("button", { style: "display: none", "data-stop": "1", onclick: () => ui.line.send("session.stop_waiting") });
  const tree = makeTree(ui), sliders = makeSliders(ui), display = makeDisplay(ui), form = makeForm(ui), panes = makePanes(ui);
  ui.box = el("div", { class: "zs", tabindex: "0", role: "group", "data-lm-suppress-shortcuts": "true" }, head, errorBar, question, deadBar,
    el("div", { class: "zs-body" }, tree.node, el("div", { class: "zs-main" }, tabs, pane, over)), el("div", { class: "zs-foot" }, probe, jobs, status, stop));
  const box = ui.box;
  // JupyterLab looks for this attribute from the element with the focus upwards, but only after it has compared the element
  // with its shortcuts: without one of its own, a slider or a row would leave the letters to the notebook, which cuts cells.
  box.addEventListener("focusin", (e) => e.target.setAttribute("data-lm-suppress-shortcuts", "true"));
  deadBar.hidden = true;
  const tall = () => { box.style.height = model.get("height") + "px"; };
  tall();
  root.append(box);
  const stages = Object.fromEntries(["main", "below", "beside"].map((id) => [id, makeStage(ui, id)]));
  const stage = el("div", { class: "zs-stages" }, Object.values(stages).map((s) => s.node));
  const lineCanvas = el("canvas", { class: "zs-linecanvas" }), plot = el("div", { class: "zs-plot" }), sentence = el("pre");
  const picture = el("div", { class: "zs-image" }, el("div", { class: "zs-left" }, stage, sliders.node), display.node);
  const other = el("div", { class: "zs-other" });

  let said = "", sayTimer = null;
  function say(text, more) {
    said = text + (more && text === ui.words["not-copied"] ? " " + more : "");
    probe.textContent = said; probe.title = more || said;
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => { said = ""; showReadout(); }, 4000);
  }

  // The values under the cursor belong to the picture: beneath the other tabs they would be old, and take a line.
  function showReadout() {
    if (said) return;
    const shown = ["image", "values"].includes(ui.place.tab) ? told : "";
    if (probe.textContent !== shown) { probe.textContent = shown; probe.title = shown; }
  }

  // ---------------------------------------------------------------- the views
  const redraw = () => requestAnimationFrame(() => ui.image.line && lineCanvas.clientWidth && drawLine(lineCanvas, ui.image.line));
  const lineWatch = new ResizeObserver(redraw);
  lineWatch.observe(lineCanvas);
  function paintPicture() {
    const s = ui.image;
    if (s.kind === "line" && s.line) {
      if (plot.parentNode !== other) refill(other, plot, sentence);
      show(other);
      sentence.textContent = s.line.sentence; sentence.hidden = !s.line.sentence;
      refill(plot, lineCanvas, s.line.marks.map((text, at) => el("span", { class: "zs-quiet", "data-mark": ["high", "low", "first", "last"][at] }, text)));
      redraw();
      return;
    }
    if (s.kind !== "image") { refill(other, el("p", { class: "zs-note" }, s.sentence || ui.words["no-image"])); show(other); return; }
    show(picture);
    stage.dataset.three = s.three ? "1" : "";
    sliders.paint(); display.paint();
    for (const each of Object.values(stages)) each.paint();
  }
  function show(node) { if (node.parentNode !== pane) pane.replaceChildren(node); }
  let questioned = false, turn = 0, askAfter = false, looked = "";
  // Shows or hides the question for credentials. With `elsewhere` it is about another place, and waits until that is in front.
  function ask(on, elsewhere) { if (elsewhere) askAfter = on; else questioned = on; update(); }
  ui.ask = ask;
  const paintQuestion = painter(({ q, questioned }) => {
    question.style.display = questioned ? "" : "none";
    if (!questioned) return;
    const inputs = q.fields.map((f) => f.yes_or_no ? el("input", { type: "checkbox", checked: !!f.value })
      : el("input", { value: f.value, placeholder: f.hint, list: f.choices.length ? `zs-${f.name}` : undefined }));
    const values = () => Object.fromEntries(q.fields.map((f, i) => [f.name, f.yes_or_no ? (inputs[i].checked ? "1" : "") : inputs[i].value]));
    const confirm = () => { const given = values(); ask(false); ui.line.send("session.use_credentials", given); };
    question.onkeydown = (e) => { if (e.key === "Enter" && e.target.tagName === "INPUT") confirm(); };
    question.replaceChildren(el("p", {}, q.sentence),
      ...q.fields.map((f, i) => el("label", { class: f.yes_or_no ? "flag" : "" }, f.yes_or_no ? [inputs[i], f.label] : [el("span", {}, f.label), inputs[i]],
        f.choices.length ? el("datalist", { id: `zs-${f.name}` }, f.choices.map((c) => el("option", { value: c }))) : "")),
      el("p", { class: "quiet" }, q.note), el("button", { onclick: confirm }, q.confirm));
  });
  const paintHead = painter(({ crumbs, facts }) => { box.setAttribute("aria-label", crumbs.map(([label]) => label).join(" ▸ ")); refill(head,
    icon(ui, "☰", "drop", () => drawer(!side)), el("span", { class: "zs-crumbs", title: crumbs.map(([label]) => label).join(" ▸ ") }, crumbs.flatMap(([label, path], i) => [i ? " ▸ " : "", el("button", { class: "bare", onclick: () => ui.line.send("session.select", path) }, label)])),
    el("span", { class: "zs-facts" }, facts),
    icon(ui, "</>", "copy-code", () => ui.line.send("copy", "code")), icon(ui, "⇩", "export-begin", () => ui.line.send("export", "begin")), icon(ui, corners(), "fullscreen", full)); });
  const paintErrors = painter(({ sentence, details, offers, retry, problem }) => {
    errorBar.style.display = sentence || offers.length ? "" : "none";
    refill(errorBar, el("span", { title: details }, sentence || problem), retry ? el("button", { onclick: () => ui.line.send("session.retry") }, retry) : "",
      offers.map((offer) => el("button", { onclick: () => offer === "credentials" ? ask(!questioned) : ui.line.send("command", offer) }, ui.words[offer])),
      icon(ui, "×", "dismiss", () => ui.line.send("session.dismiss")));
  });
  const paintTabs = painter(({ all, front, picture }) => refill(tabs, all.map((t) => el("button", { role: "tab", class: t.id === front ? "on" : "", disabled: !t.enabled, "data-tab": t.id,
    "aria-selected": String(t.id === front), onclick: () => ui.line.send("session.set_tab", t.id) }, t.title)),
  picture ? el("button", { class: "zs-panel", title: ui.words.panel, "aria-label": ui.words.panel, "aria-pressed": String(beside), onclick: () => { beside = !beside; arranged(); } }, "◧") : ""));
  const paintExport = painter((x) => {
    const opens = over.hidden && x.whats;
    over.hidden = !x.whats;
    if (x.whats) refill(over, exportPane(ui));
    if (opens) { over.setAttribute("aria-label", ui.words["export-begin"]); if (box.contains(focused(box))) over.querySelector("select")?.focus(); }
  });
  const paintJobs = painter(() => refill(jobs, jobList(ui)));

  // A button that is painted anew while it has the focus would leave the keys to the notebook. If the keyboard led to it, it
  // keeps the focus; after a click the keys act on the picture.
  function update() {
    const active = focused(box), inside = box.contains(active), place = inside && active !== box && active.matches(":focus-visible") ? placeIn(box, active) : null;
    paintAll();
    if (inside && !box.contains(focused(box))) ((place && atPlace(box, place)) || box).focus({ preventScroll: true });
  }
  function paintAll() {
    read();
    const s = ui.place;
    if (!s.status) return;
    if (s.turn !== turn) { turn = s.turn; questioned = askAfter; askAfter = false; panes.forget(); }
    if (!s.credentials) questioned = false;
    const looking = JSON.stringify([s.turn, s.path, s.tab]);
    if (looking !== looked) { looked = looking; pane.scrollTop = pane.scrollLeft = 0; }  // another view is read from its first line
    Object.assign(box.dataset, { status: s.status, path: s.path, tab: s.tab, writable: s.writable });
    paintHead({ crumbs: s.crumbs, facts: s.facts });
    paintErrors({ sentence: s.sentence, details: s.details, offers: s.offers, retry: s.retry, problem: s.problem });
    paintQuestion({ q: s.credentials, questioned });
    const pictured = s.tab === "image" && ui.image.kind === "image";
    paintTabs({ all: s.tabs, front: s.tab, picture: pictured, beside });
    pane.setAttribute("aria-label", s.tabs.find((t) => t.id === s.tab)?.title ?? "");
    paintJobs(s.jobs);
    paintExport(ui.export);
    status.textContent = ui.status;
    stop.textContent = ui.words["stop-waiting"]; stop.style.display = s.waiting ? "" : "none";
    tree.paint();
    showReadout();
    if (s.tab === "image") paintPicture();
    else if (ui.panel.tab !== s.tab) return;  // the content of the chosen tab has not arrived yet
    else if (s.tab === "attributes") { show(form.node); form.paint(); }
    else { show(other); if (other.firstChild === plot) other.replaceChildren(); panes.paint(other); }
  }
  ui.update = update;

  // ---------------------------------------------------------------- layout
  let side = true, beside = true, room = "";
  function arranged() { box.dataset.side = side ? "1" : ""; box.dataset.beside = beside ? "1" : ""; update(); }
  function drawer(on) { side = on; arranged(); }
  // In a narrow widget the tree lies over the picture: it goes once a node is chosen, or with a click beside it.
  ui.uncover = () => { if (side && box.dataset.narrow) drawer(false); };
  box.addEventListener("pointerdown", (e) => { if (!tree.node.contains(e.target) && !head.contains(e.target)) ui.uncover(); });
  function full() {
    if (document.fullscreenElement) document.exitFullscreen(); else box.requestFullscreen?.();
  }
  const watch = new ResizeObserver(() => {
    const narrow = box.clientWidth < NARROW, short = box.clientHeight < SHORT, now = narrow + "," + short;
    box.dataset.narrow = narrow ? "1" : ""; box.dataset.short = short ? "1" : "";
    if (now !== room) { room = now; side = beside = !narrow; arranged(); }
  });
  watch.observe(box);
  // Only while somebody can see the widget, the kernel looks again at a store that is being written.
  const eye = String(Math.random());
  let near = false, shown = false;
  function tellSeen() {
    const now = near && !document.hidden;
    if (now !== shown) { shown = now; ui.line.tell("seen", eye, now); }
  }
  const sight = new IntersectionObserver((all) => { near = all[all.length - 1].isIntersecting; tellSeen(); });
  sight.observe(box);
  document.addEventListener("visibilitychange", tellSeen);

  function findChannel() {
    if (ui.place.tab !== "image" || ui.image.kind !== "image" || ui.channels.length < 2) return;
    if (!beside) { beside = true; arranged(); }
    display.ask();
  }

  // ---------------------------------------------------------------- keys
  box.addEventListener("paste", (e) => {
    const text = e.clipboardData?.getData("text/plain") || "";
    e.stopPropagation();
    if (typing(e.target) || !text.trim()) return;
    ui.line.send("paste", text);
    e.preventDefault();
  });
  box.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "s" && root.closest(".jp-Notebook")) {
      e.preventDefault();  // saves the notebook, not the page
      root.dispatchEvent(new KeyboardEvent("keydown", { key: e.key, code: e.code, keyCode: e.keyCode, ctrlKey: e.ctrlKey, metaKey: e.metaKey, bubbles: true, cancelable: true }));
      return;
    }
    if (typing(e.target)) {
      // The notebook must not get these keys, because it would take Enter and letters as commands.
      e.stopPropagation();
      // Enter sends the text. A field of the form keeps the focus, for the next field; after others, keys act on the picture.
      if (e.key === "Enter" && e.target.tagName === "INPUT" && !form.node.contains(e.target)) { e.target.blur(); box.focus({ preventScroll: true }); }
      if (e.key === "Escape" && over.contains(e.target)) ui.line.send("export", "end");
      if (e.key === "Escape") box.focus();
      return;
    }
    if (e.target.type === "range" && /^(Arrow|Home|End|Page)/.test(e.key)) { e.stopPropagation(); return; }
    if (e.target.matches("button, summary, input") && (e.key === "Enter" || e.key === " ")) { e.stopPropagation(); return; }
    const held = e.ctrlKey && e.shiftKey && !e.altKey ? ui.keys["Ctrl+Shift+" + e.key.toUpperCase()] : "";
    if (held === "find-channel") findChannel();
    if (held) { e.preventDefault(); e.stopPropagation(); }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const names = { ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", " ": "Space", PageUp: "PgUp", PageDown: "PgDown" };
    const key = names[e.key] || (e.key.length === 1 ? e.key.toUpperCase() : e.key), id = ui.keys[(e.shiftKey && e.key.length > 1 ? "Shift+" : "") + key];
    if (id === "zoom-in") stages.main.zoom(0.8); else if (id === "zoom-out") stages.main.zoom(1.25); else if (id === "fit") stages.main.fit();
    else if (id) ui.line.send("command", id);
    else if (/^[1-9]$/.test(key)) ui.line.send("channel", +key);
    else if (/^[A-Z]$/.test(key)) ui.line.send("axis", key);
    else if (key === "Escape" && !over.hidden) ui.line.send("export", "end");
    else if (key === "Escape" && ui.place.waiting) ui.line.send("session.stop_waiting");
    else if (key === "Escape") box.blur();
    else return;
    e.preventDefault(); e.stopPropagation();
  });
  const timer = setInterval(() => { if (ui.image.axes?.some((a) => a.playing)) ui.line.push("tick", "slice.tick"); }, 100);

  // ---------------------------------------------------------------- messages of the kernel
  let told = "", line = "", planned = false;  // `line`: the line that the next readout is made from
  // A saved widget has its state, but no picture, and nobody answers it where no kernel runs.
  const unheard = setTimeout(() => { box.dataset.unheard = "1"; }, FIRST_PATIENCE);
  function came(content, buffers) {
    clearTimeout(unheard);
    delete box.dataset.unheard;
    if (content.heard != null) { ui.line.heard(content.heard); if (ui.place.tab === "image" && ui.image.kind === "image") sliders.paint(); }
    if (content.blank != null) line = content.blank;
    if (content.probe != null) { told = line = Array.isArray(content.probe) ? withReadoutChange(line, content.probe) : content.probe; showReadout(); }
    if (content.why != null) stages.main.title(content.why);
    if (content.channel != null) display.found(content.channel);
    if (content.whole) form.sendWhole();
    if (content.copy != null) ui.copied(content.copy);
    if (content.view) { read(); stages[content.view]?.take(content, buffers); }
    if (content.thumbnails) { panes.take(content.thumbnails, buffers); update(); }
  }
  function soon() {
    if (planned) return;
    planned = true;
    Promise.resolve().then(() => { planned = false; if (pressed) late = true; else update(); });
  }
  // A click is lost if its button or row is painted anew between the press and the release, so changes wait meanwhile.
  let pressed = 0, late = false;
  function free() {
    clearTimeout(pressed);
    pressed = 0;
    if (late) { late = false; update(); }
  }
  box.addEventListener("pointerdown", (e) => { if (e.target.closest("button, label, .zs-row")) { clearTimeout(pressed); pressed = setTimeout(free, LONGEST_PRESS); } }, true);
  const released = () => { if (pressed) setTimeout(free); };  // the click comes first
  for (const name of RELEASES) window.addEventListener(name, released, true);
  const alive = () => ui.line.look();
  for (const name of [...PARTS, "changes"]) model.on("change:" + name, soon);
  model.on("msg:custom", came);
  model.on("change:height", tall);
  model.on("comm_live_update", alive);
  update();
  // Not an image at a data URL, which a strict page refuses.
  const trial = new Blob([Uint8Array.from(atob(WEBP), (sign) => sign.charCodeAt(0))], { type: "image/webp" });
  createImageBitmap(trial).then(() => ["png", "webp"], () => ["png"]).then((kinds) => ui.line.send("hello", kinds));
  return () => {
    sight.disconnect(); document.removeEventListener("visibilitychange", tellSeen); near = false; tellSeen();
    clearInterval(timer); clearTimeout(sayTimer); clearTimeout(unheard); watch.disconnect(); lineWatch.disconnect(); ui.line.end(); panes.end();
    for (const each of Object.values(stages)) each.end();
    clearTimeout(pressed);
    for (const name of RELEASES) window.removeEventListener(name, released, true);
    for (const name of [...PARTS, "changes"]) model.off("change:" + name, soon);
    model.off("msg:custom", came); model.off("change:height", tall); model.off("comm_live_update", alive);
  };
}

export default { render };
