package resources

// OS::Heat::MultipartMime: several texts in one, as cloud-init reads them.

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"path"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/store/orchestration"
)

// part is one text of several.
type part struct{ text, subtype, filename string }

// multipartMime is the configuration of OS::Heat::MultipartMime.
func multipartMime(ctx context.Context, c *Call) (any, error) {
	given, _ := c.Properties.Get("parts")
	list, _ := given.([]any)
	var parts []part
	for _, item := range list {
		m, _ := item.(*value.Map)
		of := func(name string) string { v, _ := m.Get(name); text, _ := v.(string); return text }
		text, err := c.ConfigOf(ctx, of("config"))
		if err != nil {
			return nil, err
		}
		if of("type") != "multipart" {
			parts = append(parts, part{text, of("subtype"), of("filename")})
			continue
		}
		parts = append(parts, partsOf(text)...)
	}
	return joined(parts, c.Mark)
}

// partsOf takes a text of several parts apart; any other has none.
func partsOf(text string) (parts []part) {
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil
	}
	typ, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(typ, "multipart/") {
		return nil
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		one, err := reader.NextRawPart()
		if err != nil {
			return parts
		}
		body, err := io.ReadAll(one)
		if err != nil {
			return parts
		}
		if strings.EqualFold(one.Header.Get("Content-Transfer-Encoding"), "base64") {
			if plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), "")); err == nil {
				body = plain
			}
		}
		typ, _, _ := mime.ParseMediaType(one.Header.Get("Content-Type"))
		_, subtype, _ := strings.Cut(typ, "/")
		parts = append(parts, part{string(body), subtype, one.FileName()})
	}
}

// joined has parts be one text. What divides them is drawn from the mark, and in
// none of them.
func joined(parts []part, mark string) (string, error) {
	var all strings.Builder
	for n := 0; ; n++ {
		boundary := fmt.Sprintf("=====%s-%d=====", mark[max(0, len(mark)-orchestration.MarkLength):], n)
		for _, p := range parts {
			if strings.Contains(p.text, boundary) {
				boundary = ""
				break
			}
		}
		if boundary == "" {
			continue
		}
		fmt.Fprintf(&all, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\n\n", boundary)
		for _, p := range parts {
			fmt.Fprintf(&all, "--%s\n", boundary)
			if err := p.write(&all); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&all, "--%s--\n", boundary)
		return all.String(), nil
	}
}

func (p part) write(to *strings.Builder) error {
	subtype := p.subtype
	if subtype == "" && p.filename != "" {
		subtype = strings.TrimSuffix(p.filename, path.Ext(p.filename))
	}
	if subtype == "" {
		subtype = "plain"
	}
	charset, encoding, text := "us-ascii", "7bit", p.text
	if strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) {
		charset, encoding, text = "utf-8", "base64", folded(text)
	}
	typ := mime.FormatMediaType("text/"+subtype, map[string]string{"charset": charset})
	if typ == "" {
		return faults.New(faults.Invalid, hot.ValueError, "text/%.255s is no type of a part", subtype)
	}
	fmt.Fprintf(to, "Content-Type: %s\nMIME-Version: 1.0\nContent-Transfer-Encoding: %s\n", typ, encoding)
	if p.filename != "" {
		fmt.Fprintf(to, "Content-Disposition: %s\n", mime.FormatMediaType("attachment", map[string]string{"filename": p.filename}))
	}
	fmt.Fprintf(to, "\n%s\n", text)
	return nil
}

// folded is a text in base64, in lines of the length that mail has.
func folded(text string) string {
	const length = 76
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	var lines strings.Builder
	for len(encoded) > length {
		lines.WriteString(encoded[:length] + "\n")
		encoded = encoded[length:]
	}
	lines.WriteString(encoded + "\n")
	return lines.String()
}
