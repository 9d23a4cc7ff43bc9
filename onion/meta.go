package onion

import "slices"

// metaHolds says whether one condition of meta holds: a condition that is not
// given (null) does; otherwise one of the wanted values must be the actual one.
// A nil actual value is a value too (contract D6, vectors/meta.json).
func metaHolds(wanted, actual any) bool {
	switch x := wanted.(type) {
	case nil:
		return true
	case []any:
		return slices.Contains(x, actual)
	case string:
		return x == actual
	}
	return false
}

// metaCondition gives one condition of the merged options' meta.
func metaCondition(options map[string]any, key string) any {
	meta, ok := options[optMeta].(map[string]any)
	if !ok {
		return nil
	}
	return meta[key]
}

// instanceValue is the instance name as meta sees it: nil for the name "null".
func instanceValue(name string, none bool) any {
	if none {
		return nil
	}
	return name
}

// instanceNamesIn collects the instance names that a patch's meta asks for.
func instanceNamesIn(patch map[string]any, into map[string]bool) {
	wanted := metaCondition(patch, metaKeyInstanceName)
	list, ok := wanted.([]any)
	if !ok {
		list = []any{wanted}
	}
	for _, item := range list {
		if name, ok := item.(string); ok {
			into[name] = true
		}
	}
}
