package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is a dashboard.
type board struct {
	// name is also its UID: links to it stay.
	name, title, about string
	// variables are the names of variables with the values of a label of up{job="jmx"}, each
	// among the series of those before it.
	variables []string
	rows      []row
}

type row struct {
	title  string
	panels []panel
}

// panel is a graph of expressions or, if single, the last value of one.
type panel struct {
	title, about, unit string
	single             bool
	targets            []target
	// quiet says why the panel is empty while nothing is wrong; empty if it is not.
	quiet string
}

type target struct{ expr, legend string }

// source is the data source that the user of a dashboard selects.
var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("$datasource")} // without braces: Flux replaces variables that have them

func (b board) build() (any, error) {
	d := dashboard.NewDashboardBuilder(b.title) //nolint:staticcheck // older versions of Grafana do not read dashboardv2
	d.Uid(b.name).Description(b.about).Tags([]string{"jmx-exporter-operator"}).
		Refresh("1m").Time("now-1h", "now").Timezone(common.TimeZoneBrowser).Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("JMX exporter operator").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"jmx-exporter-operator"}).AsDropdown(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	for i, name := range b.variables {
		d.WithVariable(variable(name, b.variables[:i]))
	}
	for _, r := range b.rows {
		d.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			d.WithPanel(p.build())
		}
	}
	return d.Build()
}

func variable(name string, before []string) *dashboard.QueryVariableBuilder {
	selectors := []string{`job="jmx"`}
	for _, b := range before {
		selectors = append(selectors, b+`=~"$`+b+`"`)
	}
	query := "label_values(up{" + strings.Join(selectors, ",") + "}, " + name + ")"
	return dashboard.NewQueryVariableBuilder(name).Label(strings.ToUpper(name[:1]) + name[1:]).Query(dashboard.StringOrMap{String: &query}).Datasource(source).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).Multi(true).IncludeAll(true).AllValue(".*")
}

func (p panel) build() cog.Builder[dashboard.Panel] {
	about, none := p.about, "no data"
	if p.quiet != "" {
		about, none = strings.TrimSpace(about+" Empty while "+p.quiet+"."), "none"
	}
	if p.single {
		b := stat.NewPanelBuilder().Title(p.title).Description(about).Unit(p.unit).NoValue(none).Datasource(source).Span(4).Height(4).ColorMode(common.BigValueColorModeNone)
		for _, t := range p.targets {
			b.WithTarget(t.build().Instant())
		}
		return b
	}
	b := timeseries.NewPanelBuilder().Title(p.title).Description(about).Unit(p.unit).NoValue(none).Datasource(source).Span(12).Height(8).Min(0).FillOpacity(10).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementRight).ShowLegend(true).Calcs([]string{"lastNotNull"}))
	for _, t := range p.targets {
		b.WithTarget(t.build())
	}
	return b
}

func (t target) build() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(t.expr).LegendFormat(t.legend).Datasource(source)
}
