package rest

// Answers that are no service's fault: what webob itself says in the originals,
// in the form that the client's Accept header asks for.

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// bareFault is an error that is answered bare.
type bareFault struct{ status int }

func (b *bareFault) Error() string { return http.StatusText(b.status) }

// bareTexts are what they say.
var bareTexts = map[int]string{
	http.StatusNotFound:              "The resource could not be found.",
	http.StatusRequestEntityTooLarge: "Request is too large.",
	http.StatusInternalServerError:   "The server has either erred or is incapable of performing the requested operation.",
}

func writeBare(w http.ResponseWriter, r *http.Request, status int) {
	title := http.StatusText(status)
	line := fmt.Sprintf("%d %s", status, title)
	var contentType, body string
	switch accept := r.Header.Get("Accept"); {
	case strings.Contains(accept, "text/html"):
		contentType = "text/html; charset=UTF-8"
		body = fmt.Sprintf("<html>\n <head>\n  <title>%[1]s</title>\n </head>\n <body>\n  <h1>%[1]s</h1>\n  %[2]s<br /><br />\n\n\n\n </body>\n</html>", line, bareTexts[status])
	case accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*"):
		contentType = "text/plain; charset=UTF-8"
		body = fmt.Sprintf("%s\n\n%s\n\n\n\n\n", line, bareTexts[status])
	default:
		contentType = "application/json"
		body = fmt.Sprintf(`{"message": "%s<br /><br />\n\n\n", "code": "%s", "title": "%s"}`, bareTexts[status], line, title)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // a client that has gone needs no answer
}
