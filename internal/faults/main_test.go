package faults

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets more tests run at once than there are processors: they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "12")
	}
	goleak.VerifyTestMain(m)
}
