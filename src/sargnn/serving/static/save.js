// What is shown as a file: SVG, PNG, JSON.
function offer(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-").slice(0, 80);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function svgText(drawn) {
  const copy = drawn.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(name, drawn) {
  offer(`${name}.svg`, new Blob([svgText(drawn)], { type: "image/svg+xml" }));
}

export async function savePng(name, drawn, scale = 2) {
  const address = URL.createObjectURL(new Blob([svgText(drawn)], { type: "image/svg+xml" }));
  const image = new Image(), canvas = document.createElement("canvas");
  await new Promise((done, failed) => Object.assign(image, { onload: done, onerror: failed, src: address }));
  [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  offer(`${name}.png`, await new Promise((done) => canvas.toBlob(done, "image/png")));
}

export function saveJson(name, content) {
  offer(`${name}.json`, new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
}
