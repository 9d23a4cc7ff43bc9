package bench

import "testing"

func BenchmarkJob(b *testing.B) {
	for name, h := range handlers(b) {
		for job, c := range map[string]*call{"view": viewCall(h), "create": createCall(h)} {
			b.Run(job+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.serve()
				}
			})
		}
	}
}
