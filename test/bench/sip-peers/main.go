// SIP peers for the benches of signalling and sound, over UDP on loopback.
//
// `answer`: an application on emiago/diago that takes calls. It prints {"port":5060} once it listens.
// `echo`: the same, and who calls hears itself.
// `call`: a caller that costs next to nothing. Standard input, a JSON document a line:
// {"target":"127.0.0.1:5060","to":"+12025550100","rate":10,"calls":200,"hold_ms":500,"resend":false}; standard output: one line for each,
// in order.
// `media`: many calls with sound both ways; orders as in media.go, one answer for each.
// `udp-echo`: the same without any call; as in echo.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	tasks := map[string]func() error{
		"answer": func() error { return answer(take) }, "echo": func() error { return answer(takeEcho) },
		"call": call, "media": mediaLoad, "udp-echo": udpEcho,
	}
	if len(os.Args) != 2 || tasks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: sip-peers answer|echo|call|media|udp-echo")
		os.Exit(2)
	}
	if err := tasks[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, "sip-peers:", err)
		os.Exit(1)
	}
}
