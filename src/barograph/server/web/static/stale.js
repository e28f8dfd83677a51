// Says when what a page shows has changed since it was opened. Nothing moves by itself: a link shows
// the new state.
//
//   watch(summaryOf(page), async () => summaryOf(await get(path)));

import { element } from "./elements.js";

const PAUSE = 30_000; // ms

// `shown` sums up what the page holds; `summarise` resolves to the same text until that changes.
export function watch(shown, summarise) {
  const notice = document.querySelector("[data-stale]");
  const show = (text, label) => {
    notice.replaceChildren(text, element("a", { href: location.href }, label));
    notice.hidden = false;
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      if ((await summarise()) === shown) notice.hidden = true;
      else show("The data has changed. ", "Show it");
    } catch (error) {
      show(`${error.message} What you see may be older. `, "Try again");
    }
  };
  look();
  setInterval(look, PAUSE);
}
