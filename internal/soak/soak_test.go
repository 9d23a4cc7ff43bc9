package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSoak is a short run.
func TestSoak(t *testing.T) {
	var out bytes.Buffer
	if wrong := run(t, t.Context().Done(), config{duration: 8 * time.Second, killEvery: 3 * time.Second, callers: 8, seed: 1}, &out); wrong > 0 {
		t.Errorf("%d did not hold", wrong)
	}
	t.Log(out.String())
	if !strings.Contains(out.String(), "killed: 2") {
		t.Error("Redis was not killed twice")
	}
}

// TestLedgerNotices: a budget that is exceeded, unless a kill has lost the counts, is no budget.
func TestLedgerNotices(t *testing.T) {
	l := newLedger()
	b := bucket{app: "a", policy: "p", client: "c", window: 2000}
	for range 3 {
		l.admit(b, 3)
	}
	if l.faults != 0 || l.fullest != 1 {
		t.Errorf("%d faults, %d full", l.faults, l.fullest)
	}
	l.killed()
	for range 3 {
		l.admit(b, 3)
	}
	if l.faults != 0 {
		t.Errorf("%v after a kill", l.wrong)
	}
	l.admit(b, 3)
	if l.faults != 1 {
		t.Error("one too many was not noticed")
	}
	for range 100 {
		l.fail("more")
	}
	if l.faults != 101 || len(l.wrong) > 20 {
		t.Errorf("%d faults, %d told", l.faults, len(l.wrong))
	}
}
