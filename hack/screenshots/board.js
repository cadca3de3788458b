// Makes a dashboard of Perses of one of Grafana's: titles, places, units, and the expressions as they are.
const units = {
  bytes: { unit: "bytes", shortValues: true },
  Bps: { unit: "bytes/sec", shortValues: true },
  ops: { unit: "ops/sec", shortValues: true },
  percentunit: { unit: "percent-decimal" },
  reqps: { unit: "requests/sec", shortValues: true },
  s: { unit: "seconds" },
  short: { unit: "decimal", shortValues: true },
};

export function convert(grafana) {
  const panels = {}, layouts = [];
  for (const panel of grafana.panels) {
    if (panel.type === "row") {
      layouts.push({ kind: "Grid", spec: { display: { title: panel.title }, items: [] } });
      continue;
    }
    const { items } = layouts.at(-1).spec;
    const { x, y, w: width, h: height } = panel.gridPos;
    const key = `panel${Object.keys(panels).length}`;
    panels[key] = { kind: "Panel", spec: { display: { name: panel.title }, plugin: plugin(panel), queries: panel.targets.map(query) } };
    items.push({ x, y, width, height, content: { $ref: `#/spec/panels/${key}` } });
  }
  return {
    kind: "Dashboard",
    metadata: { name: grafana.uid, project: "screenshots", version: 0 },
    spec: { display: { name: grafana.title }, duration: "15m", variables: [], panels, layouts },
  };
}

// What Grafana's variables would be with "All" selected: TestDashboards has the same values.
export const variables = ["namespace", "pod"].map((name) => ({ kind: "TextVariable", spec: { name, value: ".*", constant: true } }));

function plugin({ type, title, fieldConfig: { defaults } }) {
  const format = units[defaults.unit];
  if (!format) throw new Error(`${title}: the unit ${defaults.unit} is unknown`);
  switch (type) {
    case "stat":
      return { kind: "StatChart", spec: { calculation: "last-number", format } };
    case "timeseries":
      return {
        kind: "TimeSeriesChart",
        spec: {
          legend: { position: "right", mode: "table", size: "small", values: ["last-number"] },
          yAxis: { format, min: defaults.min },
          visual: { areaOpacity: (defaults.custom?.fillOpacity ?? 0) / 100 },
        },
      };
  }
  throw new Error(`${title}: the type ${type} is unknown`);
}

function query({ expr, legendFormat }) {
  return {
    kind: "TimeSeriesQuery",
    spec: { plugin: { kind: "PrometheusTimeSeriesQuery", spec: { query: expr, seriesNameFormat: legendFormat } } },
  };
}
