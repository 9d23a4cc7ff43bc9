package auser

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/passport"
)

const (
	// TokenLife is how long the store keeps a sign-in that is not renewed (contract P3).
	TokenLife = 30 * 24 * time.Hour

	// tokenSpace and codeSpace stand between the instance's id and the rest of a key. The first is Vona's.
	tokenSpace = "!a-user.cacheRedis.authToken!" //nolint:gosec // part of a key's name
	codeSpace  = "!a-user.cacheRedis.oauthCode!"
)

// redisStore keeps sign-ins as Vona does, so that both can serve one application (contract P3).
type redisStore struct{ client *aredis.Client }

var (
	errNoInstance = errors.New("a sign-in belongs to an instance, and the call has none")
	errNoAuth     = errors.New("a sign-in needs a user id without a colon, and an auth id")
	errValue      = errors.New("the token store holds something that is no token")
)

// key is the Redis key of a sign-in. Ids stand in it as they are, so a colon in the user's would let one user's key be
// another's.
func (s *redisStore) key(ctx context.Context, p passport.Payload) (string, error) {
	space, err := s.space(ctx, tokenSpace)
	user, auth := p.UserID.String(), p.AuthID.String()
	switch {
	case err != nil:
		return "", err
	case user == "" || auth == "" || strings.Contains(user, ":"):
		return "", errNoAuth
	}
	return space + user + ":" + auth, nil
}

func (s *redisStore) space(ctx context.Context, name string) (string, error) {
	inst := instance.Current(ctx)
	if inst == nil || inst.ID == 0 {
		return "", errNoInstance
	}
	return s.client.Key(strconv.FormatInt(inst.ID, 10) + name), nil
}

// FindToken is one GET. A payload that no sign-in can have, and a call without an instance, have none.
func (s *redisStore) FindToken(ctx context.Context, p passport.Payload) (string, error) {
	_, token, err := s.find(ctx, p)
	return token, err
}

// find gives the stored value as it stands too, which is "" if there is none.
func (s *redisStore) find(ctx context.Context, p passport.Payload) (value, token string, err error) {
	key, err := s.key(ctx, p)
	if err != nil {
		return "", "", nil //nolint:nilerr // what cannot be signed in is not signed in
	}
	value, err = s.client.Redis.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	token, err = decode(value)
	return value, token, err
}

// issueScript stores ARGV[1] for ARGV[2] milliseconds, or keeps what is there, by the strategy ARGV[3].
const issueScript = `
local held = redis.call('GET', KEYS[1])
if held and ARGV[3] ~= 'reissue' then
  if ARGV[3] == 'refresh' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return held
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`

// IssueToken is one command: two sign-ins at the same moment share one token, or the later one replaces the earlier.
func (s *redisStore) IssueToken(ctx context.Context, p passport.Payload, fresh string, strategy Strategy) (string, error) {
	key, err := s.key(ctx, p)
	if err != nil {
		return "", err
	}
	text, err := encode(fresh)
	if err != nil {
		return "", err
	}
	value, err := s.client.Redis.Eval(ctx, issueScript, []string{key}, text, TokenLife.Milliseconds(), string(strategy)).Text()
	if err != nil {
		return "", err
	}
	return decode(value)
}

// replaceScript puts ARGV[2] in the place of ARGV[1], for ARGV[3] milliseconds.
const replaceScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`

// ReplaceToken compares and sets in one command, so that of two calls with one token a single one succeeds.
func (s *redisStore) ReplaceToken(ctx context.Context, p passport.Payload, fresh string) (bool, error) {
	value, token, err := s.find(ctx, p)
	if err != nil || !same(token, p.Token) {
		return false, err
	}
	key, err := s.key(ctx, p)
	if err != nil {
		return false, err
	}
	text, err := encode(fresh)
	if err != nil {
		return false, err
	}
	done, err := s.client.Redis.Eval(ctx, replaceScript, []string{key}, value, text, TokenLife.Milliseconds()).Int()
	return done == 1, err
}

// SpendCode is one SET.
func (s *redisStore) SpendCode(ctx context.Context, code string, life time.Duration) (bool, error) {
	space, err := s.space(ctx, codeSpace)
	if err != nil {
		return false, err
	}
	err = s.client.Redis.SetArgs(ctx, space+code, "1", redis.SetArgs{Mode: "NX", TTL: life}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// RemoveToken is one DEL.
func (s *redisStore) RemoveToken(ctx context.Context, p passport.Payload) error {
	key, err := s.key(ctx, p)
	if err != nil {
		return nil //nolint:nilerr // what cannot be signed in is not signed in
	}
	return s.client.Redis.Del(ctx, key).Err()
}

// RemoveTokens walks the keys of the whole database, as Vona does: there is no list of a user's sign-ins. It finds every
// sign-in that was there when it began.
func (s *redisStore) RemoveTokens(ctx context.Context, user passport.ID) error {
	space, err := s.space(ctx, tokenSpace)
	if err != nil {
		return err
	}
	if user.String() == "" || strings.Contains(user.String(), ":") {
		return errNoAuth
	}
	pattern := globEscape.Replace(space+user.String()+":") + "*"
	if cluster, ok := s.client.Redis.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return s.remove(ctx, node, pattern) })
	}
	return s.remove(ctx, s.client.Redis, pattern)
}

// globEscape makes a text stand for itself in a pattern of Redis.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// remove deletes the keys of one server that match. They are deleted through the client: in a cluster it knows the way,
// should a key have moved since.
func (s *redisStore) remove(ctx context.Context, server redis.Cmdable, pattern string) error {
	const page = 1000
	for cursor := uint64(0); ; {
		keys, next, err := server.Scan(ctx, cursor, pattern, page).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			_, err := s.client.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, key := range keys {
					pipe.Del(ctx, key)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// encode writes a token as JSON. Tokens made here have letters and digits only, and those of Vona hyphens: both sides write
// them alike.
func encode(token string) (string, error) {
	text, err := json.Marshal(token)
	return string(text), err
}

// decode reads a stored value. Its error repeats nothing of it.
func decode(value string) (string, error) {
	var token string
	if err := json.Unmarshal([]byte(value), &token); err != nil || token == "" {
		return "", errValue
	}
	return token, nil
}
