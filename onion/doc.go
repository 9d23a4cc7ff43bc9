// Package onion is the engine of vonago: named aspects ("onions") in six
// scenes, their options in layers, and the chains that are compiled from them.
//
// It holds no server. A module author defines onions (Interceptor, Guard, ...),
// a controller author declares routes by code (Get, Post, ...) or by policy tags
// (ControllerTag, Action); both end in the same Controller, Route and Use model.
// Build checks everything an application consists of, reports all errors at
// once, and yields an Engine whose Sets hand out one compiled Chain for each
// route and option set.
package onion
