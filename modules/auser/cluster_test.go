//go:build unix

package auser

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// A kick-out in a cluster finds the sign-ins of all nodes.
func TestKickOutInCluster(t *testing.T) {
	args := redistest.Args("--cluster-enabled", "yes")
	nodes := []*redistest.Server{redistest.Start(t, args), redistest.Start(t, args)}
	nodes[0].Do("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
	nodes[1].Do("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
	nodes[1].Do("CLUSTER", "MEET", "127.0.0.1", nodes[0].Port())
	deadline := time.Now().Add(20 * time.Second)
	for _, node := range nodes {
		for !strings.Contains(fmt.Sprint(node.Do("CLUSTER", "INFO")), "cluster_slots_ok:16384") ||
			!strings.Contains(fmt.Sprint(node.Do("CLUSTER", "INFO")), "cluster_state:ok") {
			if time.Now().After(deadline) {
				t.Fatalf("no cluster: %v", node.Do("CLUSTER", "INFO"))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	env := onion.NewEnv("shop", onion.ModeProd, "normal", slog.New(slog.DiscardHandler), nil)
	clients, err := aredis.NewClients(env, aredis.Config{Base: aredis.Connection{Nodes: []string{nodes[0].Addr()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clients.Stop(context.Background()) })
	client, err := clients.Client(aredis.Cache)
	if err != nil {
		t.Fatal(err)
	}
	s, ctx := &redisStore{client}, in(t, 1)
	for i := range 40 {
		for _, user := range []string{"1", "10"} {
			p := payload(user, fmt.Sprint(i), "")
			if p.Token, err = s.IssueToken(ctx, p, "t", Refresh); err != nil {
				t.Fatal(err)
			}
			if done, err := s.ReplaceToken(ctx, p, "next"); !done || err != nil {
				t.Fatalf("replace: %v, %v", done, err)
			}
		}
	}
	if err := s.RemoveTokens(ctx, passport.StringID("1")); err != nil {
		t.Fatal(err)
	}
	left := 0
	for i, node := range nodes {
		if keys := node.Keys("*!1:*"); len(keys) > 0 {
			t.Errorf("node %d has %q", i, keys)
		}
		if others := len(node.Keys("*!10:*")); others > 0 {
			left += others
		} else {
			t.Errorf("node %d had nothing", i)
		}
	}
	if left != 40 {
		t.Errorf("%d sign-ins of another user are left, want 40", left)
	}
}
