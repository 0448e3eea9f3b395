// Two SIP peers for the bench of signalling, over UDP on loopback.
//
// `answer`: an application on emiago/diago that takes calls. It prints {"port":5060} once it listens.
// `call`: a caller that costs next to nothing. Standard input, a JSON document a line:
// {"target":"127.0.0.1:5060","to":"+12025550100","rate":10,"calls":200,"hold_ms":500}; standard output: one line for each,
// in order.
package main

import (
	"fmt"
	"os"
)

func main() {
	tasks := map[string]func() error{"answer": answer, "call": call}
	if len(os.Args) != 2 || tasks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: sip-peers answer|call")
		os.Exit(2)
	}
	if err := tasks[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, "sip-peers:", err)
		os.Exit(1)
	}
}
