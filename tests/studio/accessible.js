// What an assistive technology and a weak eye need of a page: returns the faults in words.
() => {
  const faults = [];
  const seen = (e) => { const r = e.getBoundingClientRect(); const s = getComputedStyle(e); return r.width > 0 && r.height > 0 && s.visibility !== "hidden" && s.opacity !== "0"; };
  const told = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""} ${(e.textContent || "").trim().slice(0, 40)}`;
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    const name = e.labels?.length ? [...e.labels].map((l) => l.textContent.trim()).join("") : e.getAttribute("aria-label");
    if (!name) faults.push(`no label: ${told(e)} ${e.name}`);
  }
  for (const e of document.querySelectorAll("button, a[href], summary, [role=button]")) {
    if (!(e.textContent.trim() || e.getAttribute("aria-label"))) faults.push(`no name: ${told(e)}`);
  }
  for (const e of document.querySelectorAll("svg")) {
    if (!e.getAttribute("aria-label") && e.getAttribute("aria-hidden") !== "true") faults.push("a picture without words");
  }
  for (const e of document.querySelectorAll("iframe")) if (!e.title) faults.push("a frame without a title");
  for (const e of document.querySelectorAll("img")) if (!e.alt) faults.push("an image without words");
  for (const e of document.querySelectorAll("table th")) if (!e.scope) faults.push(`a heading cell without scope: ${told(e)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`two elements have the id ${id}`);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen).map((e) => Number(e.tagName[1]));
  if (levels.filter((l) => l === 1).length !== 1) faults.push("not one h1");
  for (let i = 1; i < levels.length; i++) if (levels[i] > levels[i - 1] + 1) faults.push(`h${levels[i]} after h${levels[i - 1]}`);

  const colour = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n.length > 3 ? n[3] : 1 }; };
  const light = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (let p = e; p; p = p.parentElement) { const c = colour(getComputedStyle(p).backgroundColor); if (c.a === 1) return c.rgb; } return [255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !seen(e) || e.closest("[disabled], noscript, option, script, .visually-hidden, .skip")) continue;
    const style = getComputedStyle(e);
    const svg = e.closest("svg");
    const around = svg ? [...(e.parentElement.querySelectorAll("rect.node"))].map((r) => colour(getComputedStyle(r).fill).rgb)[0] : null;
    const [a, b] = [light(colour(svg ? style.fill : style.color).rgb), light(around || ground(e))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${told(e)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  return [...new Set(faults)];
}
