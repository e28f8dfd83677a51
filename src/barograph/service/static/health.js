// The health page: say when what it shows has changed. Rows never move by themselves.

import { element } from "./elements.js";
import { get } from "./http.js";

const PAUSE = 30_000; // ms
const notice = document.querySelector("[data-stale]");
let first = null;

function summaryOf(health) {
  const { silent, late, suspects } = health.counts;
  const rejected = health.rejected.reduce((sum, one) => sum + one.results, 0);
  return [silent, late, suspects, rejected, health.waiting];
}

async function look() {
  if (document.hidden) return;
  try {
    const now = summaryOf(await get("/api/v1/data-health")).join(" ");
    first ??= now;
    if (now === first) {
      notice.hidden = true;
      return;
    }
    say("The data has changed. ", "Show it");
  } catch (failure) {
    say(`${failure.message} What you see is older. `, "Try again");
  }
}

function say(text, label) {
  notice.replaceChildren(text, element("a", { href: location.href }, label));
  notice.hidden = false;
}

look();
setInterval(look, PAUSE);
