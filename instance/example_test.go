package instance_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// Tenants whose hosts are called tenant-<name>; every other host decides as
// usual.
func ExampleNameFunc() {
	byHost := func(c *onion.Call) (name string, given bool) {
		name, given = strings.CutPrefix(c.Host, "tenant-") // tenant-acme:7102
		name, _, _ = strings.Cut(name, ":")
		return name, given
	}
	fields := instance.Section{QueryField: instance.DefaultField, HeaderField: instance.DefaultField}
	r := instance.NewResolver(fields, 2, byHost)
	for _, host := range []string{"tenant-acme:7102", "beta.cabloy.test", "eu.beta.cabloy.test:7102", "127.0.0.1:7102"} {
		name, _ := r.Resolve(&onion.Call{Host: host})
		fmt.Printf("%s: %q\n", host, name)
	}
	// Output:
	// tenant-acme:7102: "acme"
	// beta.cabloy.test: "beta"
	// eu.beta.cabloy.test:7102: "beta.eu"
	// 127.0.0.1:7102: ""
}

// A service finds the instance of the request that it works for.
func ExampleCurrent() {
	greeting := func(ctx context.Context) string {
		return "Welcome to " + instance.Current(ctx).Title
	}

	c := &onion.Call{}
	instance.Attach(c, &instance.Instance{Name: "acme", Title: "Acme school"}) // the executor does this
	fmt.Println(greeting(onion.WithCall(context.Background(), c)))
	// Output: Welcome to Acme school
}
