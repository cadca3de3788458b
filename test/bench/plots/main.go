// Command plots draws the pictures of docs/scale.md from the figures of test/bench/fleet.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func main() {
	results := flag.String("results", "", "`file` with the figures")
	images := flag.String("images", "", "`directory` to write the pictures into")
	flag.Parse()
	if err := run(*results, *images); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// figure is one of test/bench/fleet: figures of the same plot are in one picture.
type figure struct {
	Plot, Name, Short string
	Goal              float64
	Points            []struct {
		Pods, Exporters int
		Value           float64
	}
}

func run(results, images string) error {
	content, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	var all struct{ Figures []figure }
	if err := json.Unmarshal(content, &all); err != nil {
		return err
	}
	plots := map[string][]figure{}
	for _, f := range all.Figures {
		plots[f.Plot] = append(plots[f.Plot], f)
	}
	for name, figures := range plots {
		p, err := picture(figures)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := p.Save(14*vg.Centimeter, 8*vg.Centimeter, filepath.Join(images, "scale-"+name+".svg")); err != nil {
			return err
		}
	}
	return nil
}

// drawing is a picture, with a number of lines so far.
type drawing struct {
	*plot.Plot
	lines int
}

// picture has a line for each figure and number of exporters, and for each goal.
func picture(figures []figure) (*plot.Plot, error) {
	p := &drawing{Plot: plot.New()}
	p.BackgroundColor = color.White // whatever the page's is
	p.X.Label.Text, p.Y.Min = "pods", 0
	p.Title.Text = figures[0].Name
	p.Legend.Top, p.Legend.Left = false, false
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.Add(plotter.NewGrid())
	for _, f := range figures {
		if len(figures) > 1 {
			p.Title.Text = titles[f.Plot]
		}
		for _, exporters := range exportersOf(f) {
			if err := p.addLine(f, exporters); err != nil {
				return nil, err
			}
		}
		if f.Goal > 0 {
			if err := p.addGoal(f); err != nil {
				return nil, err
			}
		}
	}
	p.Y.Max *= 1.1
	return p.Plot, nil
}

// titles are those of pictures with more than one figure.
var titles = map[string]string{
	"requests": "Requests a pod", "reconciles": "Reconciles a pod, first attach",
	"cpu": "CPU of the operator a pod, ms", "heap": "Heap a pod, kB",
}

func exportersOf(f figure) (numbers []int) {
	for _, point := range f.Points {
		numbers = append(numbers, point.Exporters)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func (p *drawing) addLine(f figure, exporters int) error {
	var points plotter.XYs
	for _, point := range f.Points {
		if point.Exporters == exporters {
			points = append(points, plotter.XY{X: float64(point.Pods), Y: point.Value})
		}
	}
	slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X - b.X) })
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, marks.Color = plotutil.Color(p.lines), plotutil.Color(p.lines)
	p.lines++
	marks.Shape = draw.CircleGlyph{}
	p.Add(line, marks)
	name := fmt.Sprintf("%d exporters", exporters)
	if f.Short != "" {
		name = f.Short + ", " + name
	}
	p.Legend.Add(name, line, marks)
	return nil
}

func (p *drawing) addGoal(f figure) error {
	var points plotter.XYs
	for _, point := range f.Points {
		points = append(points, plotter.XY{X: float64(point.Pods), Y: f.Goal})
	}
	slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X - b.X) })
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(line)
	p.Legend.Add("goal", line)
	return nil
}
