package stackgraph

// A drawing that any browser shows, laid out here.

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Sizes in pixels. A letter is as wide as those of sans-serif faces are at most on
// average, so that a box holds its text in whatever face there is.
const (
	boxHeight  = 58
	headHeight = 64 // of a box with others in it
	letter     = 7.5
	padding    = 14
	gapAcross  = 56
	gapDown    = 18
)

// box is where a node is drawn, within its graph.
type box struct {
	node                *Node
	x, y, width, height float64
	inner               *layout
}

// layout is where a graph's boxes are: a column for each layer.
type layout struct {
	boxes         []*box
	width, height float64
}

func arranged(g *Graph) *layout {
	l := &layout{}
	layers := g.layers()
	var columns [][]*box
	for _, n := range g.Nodes { // which come in the order of their layers
		b := boxOf(n)
		for len(columns) <= layers[n] {
			columns = append(columns, nil)
		}
		columns[layers[n]] = append(columns[layers[n]], b)
		l.boxes = append(l.boxes, b)
	}
	for i, column := range columns {
		if i > 0 {
			l.width += gapAcross
		}
		y, width := 0.0, 0.0
		for _, b := range column {
			if y > 0 {
				y += gapDown
			}
			b.x, b.y = l.width, y
			y += b.height
			width = max(width, b.width)
		}
		l.width, l.height = l.width+width, max(l.height, y)
	}
	return l
}

func boxOf(n *Node) *box {
	b := &box{node: n, height: boxHeight}
	for _, line := range n.lines() {
		b.width = max(b.width, float64(len([]rune(line)))*letter+2*padding)
	}
	if n.Nested != nil && len(n.Nested.Nodes) > 0 {
		b.inner = arranged(n.Nested)
		b.width, b.height = max(b.width, b.inner.width+2*padding), headHeight+b.inner.height+padding
	}
	return b
}

// SVG writes the graph as a picture. What is needed is to the left of what needs it; a
// stack in the stack is within the resource that it is.
func SVG(w io.Writer, g *Graph) error {
	l := arranged(g)
	title := g.Name + ": " + g.State
	width, height := max(l.width, float64(len([]rune(title)))*letter)+2*padding, headHeight+l.height+padding
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#4a5568"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<title>%s</title>`+"\n"+`<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n", xmlText(title))
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="15" font-weight="bold">%s</text>`+"\n", padding, xmlText(title))
	l.svg(&b, padding, headHeight-padding)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// svg draws the boxes at a place, and then what leads from one to another.
func (l *layout) svg(b *strings.Builder, x, y float64) {
	at := map[*Node]*box{}
	for _, one := range l.boxes {
		at[one.node] = one
		one.svg(b, x, y)
	}
	for _, to := range l.boxes {
		for _, need := range to.node.Needs {
			from := at[need]
			x1, y1 := x+from.x+from.width, y+from.y+boxHeight/2
			x2, y2 := x+to.x, y+to.y+boxHeight/2
			fmt.Fprintf(b, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="#4a5568" marker-end="url(#arrow)"/>`+"\n",
				x1, y1, x1+gapAcross/2, y1, x2-gapAcross/2, y2, x2, y2)
		}
	}
}

func (one *box) svg(b *strings.Builder, x, y float64) {
	x, y = x+one.x, y+one.y
	l := lookOf(one.node.State)
	fmt.Fprintf(b, `<g class="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="%s" stroke="%s"/>`, l.class, x, y, one.width, one.height, l.fill, l.line)
	for i, line := range one.node.lines() {
		weight := ""
		if i == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f"%s>%s</text>`, x+padding, y+float64(18+16*i), weight, xmlText(line))
	}
	b.WriteString("</g>\n")
	if one.inner != nil {
		one.inner.svg(b, x+padding, y+headHeight)
	}
}

// xmlText is a text in which nothing is markup, or what XML can't have.
func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
