package executor

// RaceDetector is raceDetector for the tests outside the package.
const RaceDetector = raceDetector
