// Package redact takes secrets out of text that will be stored or shown: errors
// on their way into a history, causes on their way into a log. There is one
// list; whoever finds a new shape of secret adds its row here.
package redact

import "regexp"

// shapes of secrets; what stands in the first group is kept.
var shapes = []*regexp.Regexp{
	// key=value and "key": "value", under any name that means a secret.
	regexp.MustCompile(`(?i)([\w-]*(?:passw(?:or)?d|passphrase|adminpass|secret|token|api_?key|user_?data|private_?key|credential)[\w-]*["']?\s*[:=]\s*)(?:"[^"]*"|'[^']*'|[^\s"',;&}]+)`),
	// Headers that carry one.
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]+`),
	// user:password@ in a URL.
	regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s/@]+(?:@)`),
	// Keystone's Fernet tokens and JWTs, wherever they stand.
	regexp.MustCompile(`()\bgAAAA[\w=-]{20,}`),
	regexp.MustCompile(`()\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+`),
	regexp.MustCompile(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
}

// Text gives text with *** for each secret in it.
func Text(text string) string {
	for _, shape := range shapes {
		text = shape.ReplaceAllString(text, "${1}***")
	}
	return text
}
