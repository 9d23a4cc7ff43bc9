// Package archtest is a test and nothing else: it holds the project to its floors (docs/architecture.md) and to a few habits
// that no linter knows.
//
// It reads the imports of every Go file that is not a test, for every system and build tag, and compares them with the tables
// of rules_test.go. An import that stands in no table fails the test: either it is a mistake, or it is a decision, and then the
// row says why. Other modules in the same tree (those with their own go.mod) are not read.
package archtest
