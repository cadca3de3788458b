// The page that shows the dashboard of Grafana that /dashboard serves, with the components of Perses.
import { ThemeProvider } from "@mui/material";
import { ChartsProvider, SnackbarProvider, generateChartsTheme, getTheme } from "@perses-dev/components";
import { Dashboard, DashboardProvider, DatasourceStoreProvider, VariableProvider } from "@perses-dev/dashboards";
import { PluginRegistry, TimeRangeProvider, dynamicImportPluginLoader } from "@perses-dev/plugin-system";
import * as prometheus from "@perses-dev/prometheus-plugin";
import * as statChart from "@perses-dev/stat-chart-plugin";
import * as timeSeriesChart from "@perses-dev/timeseries-chart-plugin";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router-dom";
import { convert, variables } from "./board.js";

const datasource = {
  kind: "GlobalDatasource",
  metadata: { name: "prometheus" },
  spec: { default: true, plugin: { kind: "PrometheusDatasource", spec: { directUrl: "/prometheus" } } },
};
const datasourceApi = {
  getDatasource: async () => undefined,
  getGlobalDatasource: async () => datasource,
  listDatasources: async () => [],
  listGlobalDatasources: async () => [datasource],
};
const theme = getTheme("light");
const dashboardResource = convert(await (await fetch("/dashboard")).json());

// Each is around those after it.
const nested = [
  [MemoryRouter, {}],
  [ThemeProvider, { theme }],
  [ChartsProvider, { chartsTheme: generateChartsTheme(theme, {}) }],
  [SnackbarProvider, {}],
  [PluginRegistry, {
    pluginLoader: dynamicImportPluginLoader([prometheus, statChart, timeSeriesChart].map((plugin) => ({ resource: plugin.getPluginModule(), importPlugin: async () => plugin }))),
    defaultPluginKinds: { Panel: "TimeSeriesChart", TimeSeriesQuery: "PrometheusTimeSeriesQuery" },
  }],
  [QueryClientProvider, { client: new QueryClient({ defaultOptions: { queries: { refetchOnWindowFocus: false, retry: false } } }) }],
  [TimeRangeProvider, { timeRange: { pastDuration: "15m" }, refreshInterval: "0s" }],
  [VariableProvider, { initialVariableDefinitions: variables }],
  [DatasourceStoreProvider, { dashboardResource, datasourceApi }],
  [DashboardProvider, { initialState: { dashboardResource, isEditMode: false } }],
  [Dashboard, {}],
];
createRoot(document.getElementById("root")).render(nested.reduceRight((children, [component, props]) => createElement(component, props, children), undefined));
