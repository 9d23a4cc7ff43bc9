package instance

// build makes the instance of the record that a slot holds; nil if it holds none
// any more. It computes only, so a stampede to a new instance does the work once.
func (m *Manager) build(name string, s *slot) (*Instance, error) {
	m.building.Lock()
	defer m.building.Unlock()
	if inst := m.find(name); inst != nil {
		return inst, nil
	}
	rec := s.rec.Load()
	if rec == nil {
		return nil, nil //nolint:nilnil // see above
	}
	static := m.statics[name]
	o, fault, err := m.effective(name, static, s, rec)
	if err != nil {
		return nil, err
	}
	switch {
	case fault == nil:
	case s.good.Load() != nil:
		m.life.logger.Error("the stored config of an instance is refused; the last good one stays in force", "instance", name, "error", fault)
	default:
		m.life.logger.Error("the stored config of an instance is refused; nothing stored is in force", "instance", name, "error", fault)
	}
	shown := *rec
	if static != nil {
		shown = static.Over(shown)
		if static.ID != 0 && static.ID != rec.ID {
			m.life.logger.Warn("the record of an instance has another id than its configuration; the record's is used",
				"instance", name, "recordID", rec.ID, "configuredID", static.ID, "configured", static.Where)
		}
	}
	return m.keep(&Instance{
		Name: name, ID: shown.ID, Title: shown.Title, Disabled: shown.Disabled, Isolate: shown.Isolate,
		Set: o.set, config: o.config, fault: fault, slot: s, rec: rec, life: m.life,
	}), nil
}

// effective gives the options of an instance with the stored config of its
// record. If that is refused, fault says why, and the options are those of the
// last good one, or of none. The error says that there are no options at all:
// the application's own do not hold for an instance of this name.
func (m *Manager) effective(name string, static *Static, s *slot, rec *Record) (o options, fault, err error) {
	o, fault = m.optionsWith(name, static, rec.Config)
	if fault == nil {
		s.good.Store(&rec.Config)
		return o, nil, nil
	}
	if good := s.good.Load(); good != nil {
		if o, err = m.optionsWith(name, static, *good); err == nil {
			return o, fault, nil
		}
	}
	o, err = m.optionsWith(name, static, nil)
	return o, fault, err
}

func (m *Manager) optionsWith(name string, static *Static, stored []byte) (options, error) {
	if len(stored) == 0 && static != nil {
		return m.checked[name], nil
	}
	return m.cfg.optionsOf(name, static, stored)
}
