package ainstance

import (
	"slices"
	"strings"

	"github.com/vonago/vonago/instance"
)

// byName sorts records by the bytes of their names, whatever the order of the database is.
func byName(list []*instance.Record) []*instance.Record {
	slices.SortFunc(list, func(a, b *instance.Record) int { return strings.Compare(a.Name, b.Name) })
	return list
}
