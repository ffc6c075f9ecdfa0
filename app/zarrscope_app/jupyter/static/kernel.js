// The line to the kernel. Gestures of one kind that come faster than it answers melt into the last one; a kernel that
// is busy is said to be, one that is gone, too.
const PATIENCE = 900;

function lineTo(model, changed) {
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
      model.send({ do: name, args, n: ++sent });
    } catch {
      state(false, true);
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(() => sent > heard && state(true, dead), PATIENCE);
  }
  const line = {
    // At once, after all that waits: in the order of the person's hands.
    send(name, ...args) {
      for (const [, [what, its]] of waiting) post(what, its);
      waiting.clear();
      post(name, args);
    },
    // Only the last one of a key counts.
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
    // Without an answer: for what tells the kernel itself something.
    tell(name, ...args) {
      try { model.send({ do: name, args }); } catch { state(false, true); }
    },
    look() { line.tell("look"); },
    end() { clearTimeout(timer); },
    get dead() { return dead; },
  };
  return line;
}

// Runs the cell that holds a node again, as Ctrl+Enter does there; false where the notebook is none that is known.
function runAgain(node) {
  const cell = node.closest(".jp-Cell"), editor = cell?.querySelector(".cm-content");
  if (!editor) return false;
  editor.focus();
  // The notebook learns of the focus a moment later; before, the key would be one of its command mode.
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
