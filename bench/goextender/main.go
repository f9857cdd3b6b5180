// An extender as most are written: Go, net/http, encoding/json and the official types of the protocol.
//
// filter decodes ExtenderArgs, the pod included, and answers that every node passes. prioritize decodes the
// same and gives each node a score from 0 to 10, taken from its name alone. Nothing is watched, kept or
// computed beyond that: it is the least that an extender with those types can do. It needs
// nodeCacheCapable: true, as Tradewind's own entry has it.
//
// `goextender PORT` serves on that port of 127.0.0.1. GET /metrics answers with Prometheus counters.
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	extender "k8s.io/kube-scheduler/extender/v1"
)

const scores = extender.MaxExtenderPriority + 1

var requests = map[string]*atomic.Int64{"filter": {}, "prioritize": {}}

func filter(args *extender.ExtenderArgs) any {
	return &extender.ExtenderFilterResult{NodeNames: args.NodeNames}
}

func prioritize(args *extender.ExtenderArgs) any {
	priorities := make(extender.HostPriorityList, 0, len(*args.NodeNames))
	for _, name := range *args.NodeNames {
		priorities = append(priorities, extender.HostPriority{Host: name, Score: score(name)})
	}
	return &priorities
}

func score(name string) int64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return int64(hash.Sum32()) % scores
}

func serve(verb string, answer func(*extender.ExtenderArgs) any) {
	http.HandleFunc("POST /"+verb, func(response http.ResponseWriter, request *http.Request) {
		var args extender.ExtenderArgs
		if err := json.NewDecoder(request.Body).Decode(&args); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		if args.Pod == nil || args.NodeNames == nil {
			http.Error(response, "the request lacks Pod or NodeNames", http.StatusBadRequest)
			return
		}
		body, err := json.Marshal(answer(&args))
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		requests[verb].Add(1)
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = response.Write(body)
	})
}

func metrics(response http.ResponseWriter, _ *http.Request) {
	for verb, count := range requests {
		fmt.Fprintf(response, "go_requests_total{verb=%q,outcome=\"ok\"} %d\n", verb, count.Load())
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: goextender PORT")
	}
	serve("filter", filter)
	serve("prioritize", prioritize)
	http.HandleFunc("GET /metrics", metrics)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
