package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// jsonBytes lists every type that the operator watches, as JSON, and returns the sizes of the lists.
func jsonBytes(ctx context.Context, c *clients) (any, error) {
	total := 0
	sizes := map[string]any{}
	for name, path := range map[string]string{
		"nodes": "/api/v1/nodes", "pods": "/api/v1/pods", "jobs": "/apis/muster.dev/v1alpha1/trainingjobs",
	} {
		body, err := c.core.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		sizes[name] = len(body)
		total += len(body)
	}
	sizes["total"] = total
	return sizes, nil
}

// informers fills client-go's caches of nodes, pods and jobs side by side, as an operator would.
func informers(ctx context.Context, c *clients) (any, error) {
	start := time.Now()
	core := coreinformers.NewSharedInformerFactory(c.core, 0)
	nodes := core.Core().V1().Nodes().Informer()
	pods := core.Core().V1().Pods().Informer()
	custom := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0)
	jobs := custom.ForResource(trainingJobs).Informer()
	core.Start(ctx.Done())
	custom.Start(ctx.Done())
	// WaitForCacheSync polls only every 100 ms, which is too coarse here.
	for _, synced := range []cache.InformerSynced{nodes.HasSynced, pods.HasSynced, jobs.HasSynced} {
		for !synced() {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("the caches did not sync in time")
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	seconds := time.Since(start).Seconds()
	return map[string]any{
		"seconds": seconds, "residentBytes": residentBytes(),
		"nodes": len(nodes.GetStore().ListKeys()), "pods": len(pods.GetStore().ListKeys()), "jobs": len(jobs.GetStore().ListKeys()),
	}, nil
}
