//go:build !race

package executor

// raceDetector tells whether the race detector is on.
const raceDetector = false
