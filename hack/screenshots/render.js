// Renders the dashboards of config/grafana with the data of a Prometheus in a real browser, and writes a picture of each.
//   node render.js CHROMIUM DASHBOARDS PICTURES PROMETHEUS
// Fails if a panel has no data that may not be empty.
import { mkdir, readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [browserPath, dashboards, pictures, prometheus] = process.argv.slice(2);
const html = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/page.css"><div id="root"></div><script type="module" src="/page.js"></script>';

// Only the modules' ECMAScript form: with the other one, parts of Perses would be there twice.
const { outputFiles: built } = await build({
  entryPoints: [path.join(import.meta.dirname, "page.js")], outdir: "/", write: false,
  bundle: true, minify: true, format: "esm", platform: "browser", mainFields: ["browser", "module", "main"],
  define: { "process.env.NODE_ENV": '"production"', global: "globalThis" }, loader: { ".woff": "dataurl", ".woff2": "dataurl" }, logLevel: "error",
});

let shown; // the dashboard that the page shows
const server = createServer(async (request, response) => {
  const [, first] = request.url.split(/[/?]/);
  switch (first) {
    case "":
      return response.setHeader("Content-Type", "text/html").end(html);
    case "page.js":
    case "page.css":
      return response.setHeader("Content-Type", first === "page.js" ? "text/javascript" : "text/css").end(built.find((file) => file.path === "/" + first).contents);
    case "dashboard":
      return response.setHeader("Content-Type", "application/json").end(JSON.stringify(shown));
    case "prometheus": {
      const body = [];
      for await (const part of request) body.push(part);
      const answer = await fetch(prometheus + request.url.slice("/prometheus".length), {
        method: request.method, headers: { "Content-Type": request.headers["content-type"] ?? "" }, body: body.length ? Buffer.concat(body) : undefined,
      });
      return response.writeHead(answer.status, { "Content-Type": "application/json" }).end(await answer.text());
    }
  }
  response.writeHead(404).end();
}).listen(0, "127.0.0.1");
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const failures = [];
try {
  await mkdir(pictures, { recursive: true });
  for (const file of (await readdir(dashboards)).filter((name) => name.endsWith(".json"))) {
    shown = JSON.parse(await readFile(path.join(dashboards, file), "utf8"));
    await picture(path.join(pictures, file.replace(/json$/, "png")));
  }
} finally {
  await browser.close();
  server.close();
}
if (failures.length) {
  console.error(failures.join("\n"));
  process.exit(1);
}

async function picture(file) {
  const panels = shown.panels.filter((panel) => panel.type !== "row");
  const rows = shown.panels.length - panels.length;
  // All panels must be in view: others do not load.
  const page = await browser.newPage({ viewport: { width: 1400, height: 200 + 60 * rows + 45 * Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) } });
  page.on("pageerror", (error) => failures.push(`${shown.title}: ${error}`));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const drawn = page.getByTestId("panel");
  await drawn.nth(panels.length - 1).waitFor();
  for (const [i, { title, fieldConfig }] of panels.entries()) {
    const panel = drawn.nth(i);
    // A graph with data has a row for each series in its legend.
    const data = panel.locator("td").or(panel.getByText(/^\d/));
    const content = fieldConfig.defaults.noValue === "none" ? data.or(panel.locator("canvas")).or(panel.getByText("No data")) : data;
    await content.first().waitFor({ timeout: 120_000 }).catch(() => failures.push(`${shown.title}, ${title}: no data`));
  }
  await page.waitForLoadState("networkidle");
  const last = await drawn.nth(panels.length - 1).boundingBox();
  await page.screenshot({ path: file, animations: "disabled", clip: { x: 0, y: 0, width: 1400, height: Math.ceil(last.y + last.height) + 8 } });
  await page.close();
}
