package aratelimit

import "time"

// watch ends the waits of attempts whose deadlines are over, with one timer for
// all of a lane: a timer for each would cost more than all else that an attempt
// does here. It looks when the earliest deadline comes, and stops when nobody
// waits. It is used under the lane's lock.
type watch struct {
	timer *time.Timer
	at    time.Time // when it looks; zero: not at all
}

// by sees to it that somebody looks by that deadline. Nearly always somebody does
// already, as all attempts of a lane have the same time and come one after another.
func (w *watch) by(l *lane, deadline time.Time) {
	if !w.at.IsZero() && !deadline.Before(w.at) {
		return
	}
	w.at = deadline
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(deadline), l.look)
		return
	}
	w.timer.Reset(time.Until(deadline))
}

// look lets those go who are late, whether they queue or are under way.
func (l *lane) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var next time.Time
	expire := func(list []*attempt) {
		for _, a := range list {
			switch {
			case a.late:
			case !a.deadline.After(now):
				a.expire()
			case next.IsZero() || a.deadline.Before(next):
				next = a.deadline
			}
		}
	}
	expire(l.queue)
	for _, f := range l.air {
		expire(f.all)
	}
	l.watch.at = time.Time{}
	if !next.IsZero() {
		l.watch.by(l, next)
	}
}
