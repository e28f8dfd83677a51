// The health page: it says when what it shows has changed.

import "./board.js";
import { get } from "./http.js";
import { watch } from "./stale.js";

watch(document.querySelector("[data-shown]").dataset.shown, async () => {
  const { counts, rejected, waiting } = await get("/api/v1/data-health", { stay: true });
  const results = rejected.reduce((sum, reason) => sum + reason.results, 0);
  return [counts.silent, counts.late, counts.suspects, results, waiting].join(" ");
});
