// Requests to the API: JSON both ways, the CSRF header, and errors with a message for people.
//
//   const page = await request("GET", "/api/v1/verdicts?limit=10");
//   await request("POST", "/api/v1/verdicts", { body, headers: { "Idempotency-Key": key } });
//
// A failed request throws an HttpError. Its status is 0 if the service was not reached at all, and
// `retryAfter` holds the seconds to wait if the same request may work later. A request that answers
// 401 leads to the sign-in page, unless `stay` is set. With `asText` the answer is text, such as a
// part of a page.

const TIMEOUT = 30_000; // ms
const LATER = [0, 408, 429, 500, 502, 503, 504]; // statuses with which a retry may work

export class HttpError extends Error {
  constructor(status, message, retryAfter = null) {
    super(sentence(message));
    this.name = "HttpError";
    this.status = status;
    this.retryAfter = retryAfter;
  }

  get isTemporary() {
    return LATER.includes(this.status);
  }
}

// Who was signed in when the page was opened; empty without a session.
export const person = document.querySelector("meta[name=person]")?.content ?? "";
let csrf = document.querySelector("meta[name=csrf-token]")?.content ?? "";

export async function request(method, path, { body, headers = {}, stay = false, asText = false } = {}) {
  let response = await send(method, path, body, headers);
  if (response.status === 403 && csrf && method !== "GET" && (await renewed())) {
    response = await send(method, path, body, headers);
  }
  if (response.ok && asText) return response.text();
  if (response.ok) return response.status === 204 ? null : response.json();
  if (response.status === 401 && !stay) signIn();
  throw await failure(response);
}

export const get = (path, options) => request("GET", path, options);

let leaving = false; // for the sign-in page
export const isLeaving = () => leaving;

// Go to the sign-in page, and back here afterwards. A listener to `signedout` keeps what the page has
// not sent yet, or keeps the page open.
function signIn() {
  if (leaving) return; // other requests that were under way fail as well
  if (!document.dispatchEvent(new Event("signedout", { cancelable: true }))) return;
  leaving = true;
  const here = location.pathname + location.search + location.hash;
  location.assign(`/sign-in?next=${encodeURIComponent(here)}`);
}

addEventListener("pageshow", () => { leaving = false; }); // also when the browser goes back to it

// The first requests wait until the page is painted, which they would delay.
const painted = new Promise((done) => {
  if (document.hidden) done(); // a background tab is not painted
  else requestAnimationFrame(() => setTimeout(done));
});

async function send(method, path, body, headers) {
  await painted;
  const all = { Accept: "application/json", ...headers };
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) all["X-Barograph-CSRF"] = csrf;
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await fetch(path, {
      method,
      headers: all,
      body: text,
      credentials: "same-origin",
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    });
  } catch {
    const message = navigator.onLine ? "The service does not answer" : "You are offline";
    throw new HttpError(0, message);
  }
}

// Whoever signed in again in another tab has a new CSRF token, and this page an old one.
async function renewed() {
  const response = await send("GET", "/api/v1/session", undefined, {});
  if (!response.ok) return false;
  const { csrf: current, name } = await response.json();
  if (!current || current === csrf) return false;
  // Otherwise what one person decided would be saved under the name of another.
  if (person && name !== person) {
    throw new HttpError(403, `This page was opened by ${person}, and ${name} is signed in now. Reload it.`);
  }
  csrf = current;
  return true;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");
}

async function failure(response) {
  let message = `The service answered ${response.status}`;
  try {
    message = (await response.json()).error.message || message;
  } catch {
    // Not an answer of the service: a proxy in front of it failed.
  }
  const after = Number.parseFloat(response.headers.get("Retry-After"));
  return new HttpError(response.status, message, Number.isFinite(after) ? after : null);
}
