// What is shown is in the address, behind the #: a link shares it, and the browser's arrows go through it.
export function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Whether the last step can be taken back: a shared link begins without one.
export function canUndo() {
  return history.state?.step === true;
}

export function linkTo(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return "#" + new URLSearchParams(kept);
}

// A change that one can go back from, unless it only refines what is shown. The history knows which steps are its own.
export function write(changes, refine = false) {
  const link = linkTo({ ...read(), ...changes });
  if (link === location.hash) return;
  if (refine) history.replaceState(history.state, "", link);
  else history.pushState({ step: true }, "", link);
  dispatchEvent(new Event("written"));
}
