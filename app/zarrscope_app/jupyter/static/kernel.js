// Sends gestures to the kernel. Of gestures of one kind that come faster than the kernel answers, only the last is sent.
// `turn()` is the turn of the place that is painted, as the kernel counts it. `changed(busy, dead)` is called when the
// kernel becomes busy or free, or is gone.
const PATIENCE = 900;  // milliseconds without an answer, after which the kernel counts as busy

function lineTo(model, turn, changed) {
  let sent = 0, heard = 0, timer = null, busy = false, dead = false;
  const waiting = new Map();
  function state(nowBusy, nowDead) {
    if (nowBusy === busy && nowDead === dead) return;
    [busy, dead] = [nowBusy, nowDead];
    changed(busy, dead);
  }
  function post(name, args) {
    if (dead) return;
    try {
      model.send({ do: name, args, n: ++sent, turn: turn() });
    } catch {
      state(false, true);
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(() => sent > heard && state(true, dead), PATIENCE);
  }
  const line = {
    // Sends a gesture at once, after those that wait, so that the kernel gets them in the order in which they were made.
    send(name, ...args) {
      for (const [, [what, its]] of waiting) post(what, its);
      waiting.clear();
      post(name, args);
    },
    // Sends a gesture when the kernel has answered the earlier ones. A later gesture with the same key replaces it.
    push(key, name, ...args) {
      if (sent > heard) waiting.set(key, [name, args]);
      else post(name, args);
    },
    heard(number) {
      heard = Math.max(heard, number);
      if (sent > heard) return;
      clearTimeout(timer);
      state(false, false);
      const all = [...waiting.values()];
      waiting.clear();
      for (const [name, args] of all) post(name, args);
    },
    // Sends a message that the kernel does not answer.
    tell(name, ...args) {
      try { model.send({ do: name, args }); } catch { state(false, true); }
    },
    look() { line.tell("look"); },
    end() { clearTimeout(timer); },
    get dead() { return dead; },
  };
  return line;
}

// Runs the cell that holds an element again, as Ctrl+Enter does. Returns false outside of JupyterLab and Notebook 7.
function runAgain(node) {
  const cell = node.closest(".jp-Cell"), editor = cell?.querySelector(".cm-content");
  if (!editor) return false;
  editor.focus();
  // The notebook notices the focus a moment later; until then it would take the key as one of its command mode.
  setTimeout(() => editor.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, ctrlKey: true, bubbles: true, cancelable: true })), 300);
  return true;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { style: "position:fixed;opacity:0" }, text);
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
