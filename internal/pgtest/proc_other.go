//go:build unix && !linux

package pgtest

import "syscall"

// procAttr has nothing to ask for here: only Linux can tie a child to its parent's life.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
