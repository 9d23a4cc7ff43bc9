package pgtest

import "syscall"

// procAttr makes the kernel end the server when the test process dies without cleaning up, as at a test timeout.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
