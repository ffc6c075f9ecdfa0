// Sends gestures to the kernel. Of gestures of one kind that come faster than the kernel answers, only the last is sent.
// `turn()` is the turn of the place that is painted, as the kernel counts it. `changed(busy, dead)` is called when the
// kernel becomes busy or free, or is gone.
const PATIENCE = 900;  // milliseconds of a cell's run, or without an answer, after which the kernel counts as busy

function lineTo(model, turn, changed) {
  let sent = 0, heard = 0, timer = null, late = false, running = false, busy = false, dead = false;
  const waiting = new Map();
  function state(isLate, isDead) {
    late = isLate;
    const now = late || running;
    if (now === busy && isDead === dead) return;
    [busy, dead] = [now, isDead];
    changed(busy, dead);
  }
  const unwatch = watchRuns(model.widget_manager?.kernel, (now) => { running = now; state(late, dead); });
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
    end() { clearTimeout(timer); unwatch(); },
    get dead() { return dead; },
    get waits() { return sent > heard; },
  };
  return line;
}

// Calls `told(running)` when a cell has run for a while, and when it ends. Only JupyterLab and Notebook 7 hand a widget the
// kernel; elsewhere a busy kernel is noticed by the first gesture that it does not answer. The kernel's own status would not
// do: messages to widgets may be handled beside a cell, and their end makes the kernel idle as well. Returns the call that
// ends the watch.
function watchRuns(kernel, told) {
  const runs = kernel?.iopubMessage, statuses = kernel?.statusChanged;
  if (!runs?.connect || !statuses?.connect) return () => {};
  let run = kernel.status === "busy" ? "?" : "", timer = null;  // "?": a run that began before the watch
  const wait = () => { clearTimeout(timer); timer = setTimeout(() => told(true), PATIENCE); };
  const over = () => { run = ""; clearTimeout(timer); told(false); };
  const hear = (_, { header, parent_header: parent, content }) => {
    if (header.msg_type !== "status" || parent.msg_type !== "execute_request") return;
    if (content.execution_state === "busy") { run = parent.msg_id; wait(); }
    else if (content.execution_state === "idle" && (run === "?" || run === parent.msg_id)) over();
  };
  const ended = (_, status) => { if (/restarting|dead|unknown/.test(status)) over(); };
  runs.connect(hear);
  statuses.connect(ended);
  if (run) {
    wait();
    // The kernel may be busy with questions of a page that is loaded again, where no run ends. This one is answered when no
    // cell runs.
    kernel.requestCommInfo?.({ target_name: "zarrscope" }).then(() => run === "?" && over(), () => {});
  }
  return () => { clearTimeout(timer); runs.disconnect(hear); statuses.disconnect(ended); };
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
