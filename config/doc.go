// Package config loads the configuration of an application: YAML files in layers, one file per instance, and the
// environment; it knows where every value came from and decodes sections strictly into structs.
//
// The layers, low to high (issue 2, config guide):
//
//	config.yaml           base, must exist
//	config.<mode>.yaml    mode is dev, test or prod
//	config.<flavor>.yaml  flavor is any other word, "normal" if nothing is said
//	config.local.yaml     this machine only, not committed
//	environment           the variables of a Vona deployment, see [Variables]
//
// Objects merge key by key; everything else, null and lists included, replaces. Nothing is typed while merging: types are
// judged when a section is decoded ([Tree.Decode]), on the merged value, and a fault is reported with the file and line
// that set the value. Keys may contain dots (names of instances) and colons (names of onions), so a path is a list of
// keys everywhere; only messages join them by dots.
//
// [Watch] loads it all again when the files change.
//
// Instances are files too (contract D3): instances/<name>.yaml, default.yaml for the instance called "".
package config
