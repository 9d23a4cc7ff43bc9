package instance

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"
)

// MemoryStore is a Store in this process: for an application without a database,
// and for tests. Ids that it finds do not depend on the order of registrations:
// the default instance has 1, others have one derived from their name. So all
// processes and all restarts of an application agree on them, and what is
// stored elsewhere under an id never comes to belong to another instance.
type MemoryStore struct {
	mu      sync.Mutex
	byName  map[string]*Record
	ownerOf map[int64]string
}

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{byName: map[string]*Record{}, ownerOf: map[int64]string{}}
}

// Find implements Store.
func (s *MemoryStore) Find(ctx context.Context, name string) (*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.byName[name]
	if !ok {
		return nil, ErrNotFound
	}
	return rec.clone(), nil
}

// Register implements Store.
func (s *MemoryStore) Register(ctx context.Context, rec Record) (*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byName[rec.Name]; ok {
		return known.clone(), nil
	}
	return s.put(rec)
}

// List implements Editor.
func (s *MemoryStore) List(ctx context.Context) ([]*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Record, 0, len(s.byName))
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		list = append(list, s.byName[name].clone())
	}
	return list, nil
}

// Update implements Editor.
func (s *MemoryStore) Update(ctx context.Context, name string, p Patch, at time.Time) (*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.byName[name]
	if !ok {
		return nil, ErrNotFound
	}
	p.apply(rec)
	rec.UpdatedAt = at
	return rec.clone(), nil
}

var _ Editor = (*MemoryStore)(nil)

// Put adds a record or replaces the one of its name; an id of 0 keeps that
// one's. It returns what is stored then, or ErrIDTaken.
func (s *MemoryStore) Put(rec Record) (*Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byName[rec.Name]; ok {
		if rec.ID == 0 {
			rec.ID = known.ID
		}
		delete(s.ownerOf, known.ID)
		stored, err := s.put(rec)
		if err != nil {
			s.ownerOf[known.ID] = known.Name
		}
		return stored, err
	}
	return s.put(rec)
}

// Delete removes the record of a name if there is one.
func (s *MemoryStore) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec, ok := s.byName[name]; ok {
		delete(s.ownerOf, rec.ID)
		delete(s.byName, name)
	}
}

func (s *MemoryStore) put(rec Record) (*Record, error) {
	if rec.ID == 0 {
		rec.ID = derivedID(rec.Name)
	}
	if owner, taken := s.ownerOf[rec.ID]; taken && owner != rec.Name {
		return nil, ErrIDTaken
	}
	s.byName[rec.Name] = rec.clone()
	s.ownerOf[rec.ID] = rec.Name
	return rec.clone(), nil
}

// derivedID is the id of an instance that was given none: above MaxStaticID and
// within 2^53, which JSON numbers hold exactly. Two names share one with a
// chance of 1 in 2^52.
func derivedID(name string) int64 {
	if name == "" {
		return defaultID
	}
	sum := sha256.Sum256([]byte(name))
	return MaxStaticID + 1 + int64(binary.BigEndian.Uint64(sum[:])&MaxStaticID)
}
