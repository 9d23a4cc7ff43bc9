package aratelimit

import (
	_ "embed" // the scripts
	"errors"

	"github.com/redis/go-redis/v9"
)

// The scripts are atomic, so that no attempt is counted without an expiry (A7).
var (
	//go:embed counter.lua
	singleText string
	//go:embed joint.lua
	jointText string

	single = newScript(singleText) // adds 1
	joint  = newScript(jointText)  // adds n
)

// script is a counter script, with what commands need of it ready-made.
type script struct {
	text string
	hash any // a string
}

func newScript(text string) *script { return &script{text: text, hash: redis.NewScript(text).Hash()} }

// mostArguments is how many arguments a command has at most.
const mostArguments = 6

// append appends the arguments of the command that adds n attempts. Where the
// script is missing, whole sends it along: EVAL counts and loads it, in one command
// and on the very node that lost it.
func (s *script) append(args []any, key string, windowMs any, n int, whole bool) []any {
	name, body := any("evalsha"), s.hash
	if whole {
		name, body = "eval", s.text
	}
	args = append(args, name, body, 1, key, windowMs)
	if s == joint {
		args = append(args, n)
	}
	return args
}

// replyOf reads what a command came to. A reply that was read counts even if the
// pipeline failed afterwards, for which go-redis marks all its commands. failed is
// the error of the round trip, for a command that says nothing itself.
func replyOf(cmd *redis.Cmd, failed error) (Count, error) {
	reply := cmd.Val()
	if reply != nil {
		return parseReply(reply)
	}
	switch err := cmd.Err(); {
	case err != nil:
		return Count{}, err
	case failed != nil:
		return Count{}, failed
	}
	return Count{}, errReply
}

// parseReply accepts two whole numbers, a count from 1 and a TTL, and nothing else.
func parseReply(reply any) (Count, error) {
	list, ok := reply.([]any)
	if !ok || len(list) != 2 {
		return Count{}, errReply
	}
	n, okN := list[0].(int64)
	ttl, okTTL := list[1].(int64)
	if !okN || !okTTL || n < 1 || ttl < 0 {
		return Count{}, errReply
	}
	return Count{N: n, TTL: ttl}, nil
}

var errReply = &failure{class: classProtocol, text: "the counter script gave another reply than a count and a TTL"}

func isNoScript(err error) bool {
	return err != nil && (errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT"))
}
