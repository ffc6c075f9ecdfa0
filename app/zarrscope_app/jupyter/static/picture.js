// One view of the picture: paints its tiles as they arrive, and the marks over them, and sends the gestures on it.
function makeStage(ui, id) {
  const canvas = el("canvas", { role: "img" }), over = el("div", { class: "zs-over" });
  const node = el("div", { class: "zs-canvas", "data-view": id }, canvas, over);
  const tiles = new Map();
  let order = [], former = [], frame = {}, rect = null, shapeKey = "", asked = false, turn = 0, since = 0, wanted = null, kept = null, drag = null, hovered = "", told = "";

  const size = () => [node.clientHeight, node.clientWidth];
  // Shows the whole plane, or the part that is wanted, as large as possible in the middle of the view. `wanted` is the part that the
  // kernel asks for; `kept` is the part that stays in sight in a view of another size, null for the whole plane.
  function fit() {
    const [height, width] = size();
    if (!frame.shape || !frame.shape[0] || !width || !height) return;
    const [y0, x0, y1, x1] = wanted || [0, 0, ...frame.shape], aspect = frame.aspect || 1;
    const scale = Math.max(((y1 - y0) * aspect) / height, (x1 - x0) / width);
    const rows = (height * scale) / aspect, columns = width * scale;
    rect = [(y0 + y1 - rows) / 2, (x0 + x1 - columns) / 2, (y0 + y1 + rows) / 2, (x0 + x1 + columns) / 2];
    kept = wanted;
    wanted = null;
    look();
  }
  function look() {
    paint();
    if (asked || !rect) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      const dense = Math.min(2, window.devicePixelRatio || 1), [height, width] = size();
      if (width && height) ui.line.push("viewport" + id, "viewport", rect.map((v) => +v.toFixed(3)), [Math.round(height * dense), Math.round(width * dense)], id);
    });
  }
  function paint() {
    const dense = window.devicePixelRatio || 1, [height, width] = size();
    if (!width || !height) return;
    const w = Math.round(width * dense), h = Math.round(height * dense);
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const c = canvas.getContext("2d");
    c.clearRect(0, 0, w, h);
    if (!rect) return;
    const sy = h / (rect[2] - rect[0]), sx = w / (rect[3] - rect[1]);
    const at = (y, x) => [(x - rect[1]) * sx, (y - rect[0]) * sy];
    const place = (r) => {
      const [x0, y0] = at(r[0], r[1]).map(Math.round), [x1, y1] = at(r[2], r[3]).map(Math.round);
      return [x0, y0, x1 - x0, y1 - y0];
    };
    c.imageSmoothingEnabled = !!ui.image.smooth;
    const shown = new Set(order);
    for (const key of [...former.filter((k) => !shown.has(k)), ...order]) {
      const tile = tiles.get(key);
      if (tile?.bitmap) c.drawImage(tile.bitmap, ...place(tile.rect));
    }
    if (frame.bar) bar(c, w, h, sx, dense);
    overlays(c, at, dense);
  }
  function bar(c, w, h, sx, dense) {
    const length = frame.bar.length * sx, x = w - length - 12 * dense, y = h - 14 * dense;
    c.fillStyle = "#fff"; c.strokeStyle = "#000"; c.lineWidth = 3; c.strokeRect(x, y, length, 3 * dense);
    c.fillRect(x, y, length, 3 * dense); c.font = `${12 * dense}px sans-serif`; c.textAlign = "right";
    c.strokeText(frame.bar.text, w - 12 * dense, y - 4 * dense);
    c.fillText(frame.bar.text, w - 12 * dense, y - 4 * dense);
  }
  // Draws a path twice, dark beneath light, so that it is visible on any picture.
  function stroke(c, dense, path) {
    for (const [color, width] of [["#000a", 3], ["#fff", 1]]) {
      c.beginPath(); path(); c.strokeStyle = color; c.lineWidth = width * dense; c.stroke();
    }
  }
  function overlays(c, at, dense) {
    const pin = id === "main" ? ui.image.pin : null, measured = id === "main" ? ui.image.measurement : null;
    if (pin) {
      const [x, y] = at(pin[0], pin[1]), r = 7 * dense;
      stroke(c, dense, () => { c.moveTo(x - r, y); c.lineTo(x - 2, y); c.moveTo(x + 2, y); c.lineTo(x + r, y); c.moveTo(x, y - r); c.lineTo(x, y - 2); c.moveTo(x, y + 2); c.lineTo(x, y + r); });
    }
    const drawn = drag?.draws ? { kind: drag.draws, place: [...drag.from, ...drag.to] } : measured?.kind ? measured : null;
    if (!drawn) return;
    const [x0, y0] = at(drawn.place[0], drawn.place[1]), [x1, y1] = at(drawn.place[2], drawn.place[3]);
    stroke(c, dense, () => { if (drawn.kind === "line") { c.moveTo(x0, y0); c.lineTo(x1, y1); } else c.rect(x0, y0, x1 - x0, y1 - y0); });
  }
  async function take(message, buffers) {
    const mine = ++turn;
    if (message.fresh) {
      since = mine; order = []; former = []; shapeKey = "";
      for (const tile of tiles.values()) tile.bitmap.close();
      tiles.clear();
    }
    Object.assign(frame, message.frame || {});
    if (message.order) { former = [...new Set([...former, ...order])]; order = message.order; }
    say();
    const key = ui.place.path + "|" + (frame.shape || []).join() + "|" + (ui.image.axes || []).map((a) => a.role).join();
    if (message.rect) wanted = message.rect;
    if (frame.shape && (key !== shapeKey || message.rect)) { shapeKey = key; former = []; fit(); }
    let next = 0;
    await Promise.all((message.tiles || []).map(async ([name, where, state, sentence, kind]) => {
      const before = tiles.get(name);
      if (!kind) { if (before) Object.assign(before, { state, sentence }); return; }
      const bitmap = await createImageBitmap(new Blob([buffers[next++]], { type: "image/" + kind }));
      if ((tiles.get(name)?.turn || 0) > mine || mine < since) { bitmap.close(); return; }
      tiles.get(name)?.bitmap?.close();
      tiles.set(name, { rect: where, state, sentence, bitmap, turn: mine });
    }));
    if (!frame.loading && order.every((name) => tiles.has(name))) former = [];
    const kept = new Set([...order, ...former]);
    for (const [name, tile] of tiles) if (!kept.has(name)) { tile.bitmap.close(); tiles.delete(name); }
    if (id === "main") { ui.box.dataset.loading = frame.loading; ui.box.dataset.drawn = ui.box.dataset.turn = mine; }
    paint();
    ui.line.tell("painted", id);
  }
  function say() {
    canvas.setAttribute("aria-label", [ui.place.tabs?.find((t) => t.id === "image")?.title, ui.image.name].filter(Boolean).join(" "));
    const alone = !frame.blocked && frame.over;  // the reason why no tile could be read stands alone
    const reason = alone || frame.broken || "", sentence = frame.blocked || (alone ? "" : frame.sentence || "");
    over.title = reason;
    refill(over, sentence, reason ? el("div", { class: sentence ? "" : "alone" }, reason) : "", frame.blocked ? el("button", { onclick: () => ui.line.send("slice.load_anyway") }, ui.words.load) : "");
  }
  function spot(event) {
    const b = canvas.getBoundingClientRect();
    return rect && [rect[0] + ((event.clientY - b.top) / b.height) * (rect[2] - rect[0]), rect[1] + ((event.clientX - b.left) / b.width) * (rect[3] - rect[1])];
  }
  function zoom(factor, at) {
    if (!rect) return;
    const [y, x] = at || [(rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2];
    rect = [y + (rect[0] - y) * factor, x + (rect[1] - x) * factor, y + (rect[2] - y) * factor, x + (rect[3] - x) * factor];
    kept = rect;
    look();
  }
  canvas.addEventListener("wheel", (e) => {
    if (!ui.box.contains(focused(ui.box)) && !e.ctrlKey) return;  // while the widget has no focus, the wheel scrolls the page
    e.preventDefault();
    if (e.shiftKey) ui.line.send("slice.step", Math.sign(e.deltaY || e.deltaX)); else zoom(e.deltaY > 0 ? 1.25 : 0.8, spot(e));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    const from = spot(e);
    ui.box.focus({ preventScroll: true });
    if (e.button || !from) return;
    canvas.setPointerCapture(e.pointerId);
    drag = { at: [e.clientY, e.clientX], rect: [...rect], moved: false, from, to: from, draws: id !== "main" ? "" : e.shiftKey ? "line" : e.ctrlKey || e.metaKey ? "region" : "" };
  });
  canvas.addEventListener("pointermove", (e) => {
    const where = spot(e);
    if (drag) {
      drag.moved ||= Math.abs(e.clientY - drag.at[0]) + Math.abs(e.clientX - drag.at[1]) > 3;
      if (drag.draws) { drag.to = where; paint(); return; }
      const b = canvas.getBoundingClientRect(), r = drag.rect;
      const dy = ((e.clientY - drag.at[0]) / b.height) * (r[2] - r[0]), dx = ((e.clientX - drag.at[1]) / b.width) * (r[3] - r[1]);
      rect = kept = [r[0] - dy, r[1] - dx, r[2] - dy, r[3] - dx];
      look();
    } else if (where && id === "main") {
      const [y, x] = where.map(Math.floor);
      if (hovered === y + "," + x) return;  // still the same pixel
      hovered = y + "," + x;
      ui.line.push("hover", "slice.hover", y + 0.5, x + 0.5);
    }
  });
  canvas.addEventListener("pointerup", (e) => {
    const at = spot(e), was = drag;
    drag = null;
    if (!was || !at) return;
    if (was.moved && was.draws) ui.line.send("slice.measure_" + was.draws, ...was.from, ...at);
    if (was.moved) { paint(); return; }
    ui.line.send("pick", id, ...at);
    for (const key of order) {
      const tile = tiles.get(key);
      if (tile?.state === "failed" && at[0] >= tile.rect[0] && at[0] < tile.rect[2] && at[1] >= tile.rect[1] && at[1] < tile.rect[3])
        ui.line.send("slice.retry", key.split("/").map(Number));
    }
  });
  canvas.addEventListener("pointerleave", () => { hovered = ""; if (id === "main") ui.line.push("hover", "slice.leave"); });
  canvas.addEventListener("dblclick", () => fit());
  let last = "";
  const watch = new ResizeObserver(() => { const now = size().join(); if (now !== last) { last = now; wanted ||= kept; if (node.clientWidth) fit(); } });
  watch.observe(node);
  return { node, canvas, fit, zoom, take, paint, title: (text) => { if (text !== told) { told = text; canvas.title = text; } }, end: () => watch.disconnect() };
}

// Draws a 1-D array as a line, from the lowest and the highest value in each column of pixels.
function drawLine(canvas, line) {
  const dense = window.devicePixelRatio || 1, w = (canvas.width = Math.max(1, canvas.clientWidth * dense)), h = (canvas.height = Math.max(1, canvas.clientHeight * dense));
  const values = [...line.low, ...line.high].filter((v) => v != null);
  const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
  const c = canvas.getContext("2d"), y = (v) => h - 8 * dense - ((v - low) / span) * (h - 16 * dense);
  c.strokeStyle = INK; c.lineWidth = dense; c.beginPath();
  line.low.forEach((v, i) => {
    if (v == null) return;
    const x = ((i + 0.5) / line.low.length) * w;
    c.lineTo(x, y(line.high[i])); c.lineTo(x, y(v));
  });
  c.stroke();
}
