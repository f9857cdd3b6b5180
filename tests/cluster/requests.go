// Reads pods, one JSON object a line, and writes each with the requests that Kubernetes counts for it:
//
//	python -m tests.cluster.draw_pods | (cd e2e/controlplane && go run ../../tests/cluster/requests.go)
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/resource"
)

// As the scheduler of v1.36 counts the pods on a node, with its feature gates at their defaults.
var options = helpers.PodResourcesOptions{
	UseStatusResources: true,
	InPlacePodLevelResourcesVerticalScalingEnabled: true,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var pod v1.Pod
		if err := json.Unmarshal(lines.Bytes(), &pod); err != nil {
			log.Fatalf("reading %s: %v", lines.Text(), err)
		}
		requests := map[v1.ResourceName]int64{}
		for name, quantity := range helpers.PodRequests(&pod, options) {
			if name == v1.ResourceCPU {
				requests[name] = quantity.MilliValue()
			} else {
				requests[name] = quantity.Value()
			}
		}
		answer := map[string]any{"pod": json.RawMessage(lines.Bytes()), "requests": requests}
		if err := answers.Encode(answer); err != nil {
			log.Fatal(err)
		}
	}
}
