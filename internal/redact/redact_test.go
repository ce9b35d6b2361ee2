package redact

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		"no host was found":               "no host was found",
		`{"adminPass": "abc def", "a":1}`: `{"adminPass": ***, "a":1}`,
		"password=hunter2 user=bob":       "password=*** user=bob",
		"X-Auth-Token: gAAAAABabcdefghijklmnopqrstuv rest":                            "X-Auth-Token: *** rest",
		"token gAAAAABabcdefghijklmnopqrstuv refused":                                 "token *** refused",
		"Authorization: Bearer abc.def-ghi":                                           "Authorization: Bearer ***",
		"dial postgres://bob:pw@db:5432/x failed":                                     "dial postgres://bob:***db:5432/x failed",
		"key -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- end": "key *** end",
		"user_data='IyEvYmlu' tail":                                                   "user_data=*** tail",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
