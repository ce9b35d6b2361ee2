// Tests of the names of search attributes.

package main

import (
	"errors"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

func TestAttributeMapper(t *testing.T) {
	mapper := attributeMapper{}
	for _, name := range []string{"Kind", "ProjectId", "ResourceId", "Host", "RequestId"} {
		field, err := mapper.GetFieldName(name, "any")
		if err != nil || !sadefs.IsPreallocatedCSAFieldName(field, enums.INDEXED_VALUE_TYPE_KEYWORD) {
			t.Errorf("%s is stored in %q, %v, want a keyword column", name, field, err)
		}
		if alias, err := mapper.GetAlias(field, "any"); err != nil || alias != name {
			t.Errorf("%s holds %q, %v, want %s", field, alias, err, name)
		}
	}
	var invalid *serviceerror.InvalidArgument
	if _, err := mapper.GetFieldName("Flavor", "any"); !errors.As(err, &invalid) {
		t.Errorf("an unknown attribute: %v, want an invalid argument", err)
	}
	if _, err := mapper.GetAlias("Keyword06", "any"); !errors.As(err, &invalid) {
		t.Errorf("an unused column: %v, want an invalid argument", err)
	}
}
