package hot

// What is wrong with a template, an environment or a parameter.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Error says what is wrong, and where. Its text is the original's: what kind
// of thing failed, the path, what was expected; and the line, if the text that
// was read has one.
type Error struct {
	// Class is the original's name of the error, which clients match on.
	Class string
	// About is what kind of thing failed, where the original says so.
	About string
	// Path is where it failed: "resources.web.properties.name".
	Path string
	// Line is the line of the text that was read; 0 if there is none.
	Line int
	// Message is what was expected.
	Message string
}

// The classes of errors that are made here rather than by a function.
const (
	ValidationFailed  = "StackValidationFailed"
	InvalidVersion    = "InvalidTemplateVersion"
	InvalidSection    = "InvalidTemplateSection"
	InvalidReference  = "InvalidTemplateReference"
	InvalidAttribute  = "InvalidTemplateAttribute"
	InvalidSchema     = "InvalidSchemaError"
	InvalidBreakPoint = "InvalidBreakPointHook"
	InvalidRestricted = "InvalidRestrictedAction"
	InvalidMerge      = "InvalidMergeStrategyForParam"
	ConflictingMerge  = "ConflictingMergeStrategyForParam"
	ExternalDepends   = "InvalidExternalResourceDependency"
	ParameterMissing  = "UserParameterMissing"
	ParameterUnknown  = "UnknownUserParameter"
	LimitExceeded     = "RequestLimitExceeded"
	Circular          = "CircularDependencyException"
	NotFound          = "EntityNotFound"
	ValueError        = "ValueError"
	TypeError         = "TypeError"
	KeyError          = "KeyError"
)

func (e *Error) Error() string {
	var b strings.Builder
	if e.About != "" {
		b.WriteString(e.About + ": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Line > 0 {
		b.WriteString(" (line " + strconv.Itoa(e.Line) + ")")
	}
	return b.String()
}

// Unwrap is the error as the rest of Holdfast knows errors: bad input, with the
// class as its code.
func (e *Error) Unwrap() error {
	return &faults.Error{Kind: faults.Invalid, Code: e.Class, Message: e.Error()}
}

// failf makes an Error that has no place yet.
func failf(class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// invalid is a failed validation at a path.
func invalid(path, format string, args ...any) *Error {
	return &Error{Class: ValidationFailed, Path: path, Message: fmt.Sprintf(format, args...)}
}

// Class is the class of any error of this package or of package value; "" of
// any other.
func Class(err error) string {
	var own *Error
	var raised *value.Error
	switch {
	case errors.As(err, &own):
		return own.Class
	case errors.As(err, &raised):
		return raised.Class
	}
	return ""
}

// asError makes an Error of any error of this package or of package value.
func asError(err error) *Error {
	var own *Error
	var raised *value.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &raised):
		return &Error{Class: raised.Class, Message: raised.Message}
	}
	return &Error{Class: ValueError, Message: err.Error()}
}

// Said is what an error says, without the place of a function that was worked out: the
// original doesn't tell that, and neither need those who say themselves what it is of.
func Said(err error) string {
	bare := *asError(err)
	if bare.Class != ValidationFailed {
		bare.Path = ""
	}
	return bare.Error()
}

// under puts an error at a path, as the original does with what functions
// raise: it becomes a failed validation there, whose text has the path of one that it
// is made of, and no path of a function inside.
func under(path string, line int, err error) *Error {
	e := asError(err)
	message := e.Message
	if e.Class == ValidationFailed {
		message = (&Error{About: e.About, Path: e.Path, Message: e.Message}).Error()
	}
	if e.Line > 0 {
		line = e.Line
	}
	return &Error{Class: ValidationFailed, Path: path, Line: line, Message: message}
}

// join makes a path of its parts, with numbers in brackets.
func join(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		switch {
		case part == "":
		case strings.HasPrefix(part, "["):
			b.WriteString(part)
		case b.Len() == 0:
			b.WriteString(part)
		default:
			b.WriteString("." + part)
		}
	}
	return b.String()
}

// Join is the path of an error: its parts, with points between them.
func Join(parts ...string) string { return join(parts...) }
