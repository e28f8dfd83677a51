// The model page: start, follow and stop a retraining; release its models; roll back.

import "./board.js";
import { get, request } from "./http.js";

const PAUSE = 1000; // ms between two looks at a running retraining
const panel = document.querySelector("[data-retraining]");
const error = document.querySelector("[data-error]");

function showError(text) {
  error.textContent = text;
  error.hidden = !text;
  if (text) error.scrollIntoView({ block: "nearest" });
}

// Do something on click, once at a time; the button says what it does, and a failure shows above the page.
function act(selector, question, doing, work) {
  for (const button of document.querySelectorAll(selector)) {
    button.addEventListener("click", async () => {
      if (question && !confirm(question)) return;
      const label = button.textContent;
      button.disabled = true;
      button.textContent = doing;
      showError("");
      try {
        await work(button);
      } catch (failure) {
        showError(failure.message);
        button.disabled = false;
        button.textContent = label;
      }
    });
  }
}

function took(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function draw(running) {
  panel.querySelector("[data-progress]").hidden = !running;
  panel.querySelector("[data-idle]").hidden = Boolean(running);
  if (!running) return;
  panel.querySelector("progress").value = running.share;
  for (const item of panel.querySelectorAll("[data-phase]")) {
    const phase = Number(item.dataset.phase);
    const isDone = phase < running.phase;
    const isCurrent = phase === running.phase;
    item.ariaCurrent = isCurrent ? "step" : null;
    item.querySelector(".mark").textContent = isDone ? "✓" : isCurrent ? "→" : "";
    item.querySelector("[data-took]").textContent = isDone ? took(running.seconds[phase]) : "";
    const part = isCurrent && running.of > 1;
    const step = Math.min(running.done + 1, running.of);
    item.querySelector("[data-part]").textContent = part ? `, ${step} of ${running.of}` : "";
  }
}

// Follow the running retraining; when it has ended, show the page with its result.
async function follow() {
  for (;;) {
    try {
      const state = await get("/api/v1/retraining");
      showError("");
      if (!state.running) break;
      draw(state.running);
    } catch (failure) {
      showError(`${failure.message} The retraining goes on; its progress is requested again.`);
    }
    await new Promise((wake) => setTimeout(wake, PAUSE));
  }
  location.reload();
}

act("[data-retrain]", "", "Starting…", async () => {
  const state = await request("POST", "/api/v1/retraining");
  draw(state.running);
  follow();
});
act("[data-cancel]", "Stop the retraining? What it has learned so far is lost.", "Stopping…", async () => {
  await request("POST", "/api/v1/retraining/cancel");
});
act("[data-release]", "", "Releasing…", async (button) => {
  await request("POST", "/api/v1/retraining/release", {
    body: { id: Number(button.dataset.release) },
  });
  location.reload();
});
act(
  "[data-roll-back]",
  "Roll back? The present model is withdrawn and never released again.",
  "Rolling back…",
  async (button) => {
    await request("POST", "/api/v1/model/rollback", { body: { name: button.dataset.rollBack } });
    location.reload();
  },
);
if (panel.dataset.running) {
  draw(JSON.parse(panel.dataset.running));
  follow();
}
