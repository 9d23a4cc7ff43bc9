package onion

// Scene is a stage of a request at which onions of one kind run. The names are
// those of Vona's configuration (contract A4).
type Scene string

// The six scenes.
const (
	SceneMiddlewareSystem Scene = "middlewareSystem"
	SceneMiddleware       Scene = "middleware"
	SceneGuard            Scene = "guard"
	SceneInterceptor      Scene = "interceptor"
	ScenePipe             Scene = "pipe"
	SceneFilter           Scene = "filter"
)

// Scenes lists the six scenes in the order in which a request meets them.
func Scenes() []Scene {
	return []Scene{SceneMiddlewareSystem, SceneMiddleware, SceneGuard, SceneInterceptor, ScenePipe, SceneFilter}
}

// Valid reports whether s is one of the six scenes.
func (s Scene) Valid() bool {
	switch s {
	case SceneMiddlewareSystem, SceneMiddleware, SceneGuard, SceneInterceptor, ScenePipe, SceneFilter:
		return true
	}
	return false
}
