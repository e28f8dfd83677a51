// Says when what a page shows has changed since it was opened. Nothing moves by itself: a link shows
// the new state.
//
//   watch(async () => summaryOf(await get(path)));

import { element } from "./elements.js";

const PAUSE = 30_000; // ms

// `summarise` resolves to a text that is another one after a change.
export function watch(summarise) {
  const notice = document.querySelector("[data-stale]");
  let first = null;
  const show = (text, label) => {
    notice.replaceChildren(text, element("a", { href: location.href }, label));
    notice.hidden = false;
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      const now = await summarise();
      first ??= now;
      if (now === first) notice.hidden = true;
      else show("The data has changed. ", "Show it");
    } catch (error) {
      show(`${error.message} What you see is older. `, "Try again");
    }
  };
  look();
  setInterval(look, PAUSE);
}
