// Room clients for the benchmark at almost no cost: their audio is encoded in advance, and they ignore received audio. On a
// small machine, the encoding would take CPU time from what is measured.
//
// Standard input: one JSON document per line: {"join":{"id":1,"url":"ws://…","token":"…"}}, {"say":{"id":1,"clip":0}},
// {"leave":{"id":1}}, {"lateness":{}}. Standard output: one line for each, in order. A client that joins with "bridge":"127.0.0.1:4000"
// sends and receives audio as Opus packets to and from there (bridge.go).
// Arguments: files of Opus packets of 20 ms, each after its length (16 bits, big-endian); the first one is silence.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/pion/webrtc/v4/pkg/media"
)

const frame = 20 * time.Millisecond

type clip [][]byte

func readClip(file string) (clip, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var packets clip
	for len(data) >= 2 {
		length := int(binary.BigEndian.Uint16(data))
		if len(data) < 2+length {
			return nil, fmt.Errorf("%s ends within a packet", file)
		}
		packets = append(packets, data[2:2+length])
		data = data[2+length:]
	}
	return packets, nil
}

var late = struct {
	sync.Mutex
	ms []float64
}{}

type client struct {
	*participant
	say chan clip
	end chan struct{}
}

func join(url, token string, silence clip) (*client, error) {
	participant, err := connect(url, token, nil)
	if err != nil {
		return nil, err
	}
	c := &client{participant, make(chan clip, 8), make(chan struct{})}
	go c.run(silence)
	return c, nil
}

func isLoopback(ip net.IP) bool { return ip.IsLoopback() }

func (c *client) run(silence clip) {
	due := time.Now()
	var now clip
	for at := 0; ; at++ {
		select {
		case <-c.end:
			return
		case now = <-c.say:
		case <-time.After(time.Until(due)):
		}
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		late.Lock()
		late.ms = append(late.ms, float64(time.Since(due).Microseconds())/1000)
		late.Unlock()
		packet := silence[at%len(silence)]
		if len(now) > 0 {
			packet, now = now[0], now[1:]
		}
		_ = c.track.WriteSample(media.Sample{Data: packet, Duration: frame})
		due = due.Add(frame)
	}
}

func lateness() map[string]float64 {
	late.Lock()
	defer late.Unlock()
	sort.Float64s(late.ms)
	at := func(share float64) float64 {
		if len(late.ms) == 0 {
			return 0
		}
		return late.ms[int(share*float64(len(late.ms)-1))]
	}
	told := map[string]float64{"p95": at(0.95), "p99": at(0.99)}
	late.ms = nil
	return told
}

type order struct {
	Join *struct {
		Id                 int
		Url, Token, Bridge string
	}
	Say      *struct{ Id, Clip int }
	Leave    *struct{ Id int }
	Lateness *struct{}
}

func main() {
	var clips []clip
	for _, file := range os.Args[1:] {
		packets, err := readClip(file)
		if err != nil || len(packets) == 0 {
			fmt.Fprintln(os.Stderr, "unreadable:", file, err)
			os.Exit(2)
		}
		clips = append(clips, packets)
	}
	clients := map[int]*client{}
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		var result any = map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			result = map[string]any{"error": err.Error()}
		}
		switch {
		case o.Join != nil:
			var c *client
			var err error
			if o.Join.Bridge != "" {
				c, err = bridge(o.Join.Url, o.Join.Token, o.Join.Bridge)
			} else {
				c, err = join(o.Join.Url, o.Join.Token, clips[0])
			}
			if err != nil {
				result = map[string]any{"error": err.Error()}
			} else {
				clients[o.Join.Id] = c
			}
		case o.Say != nil:
			clients[o.Say.Id].say <- clips[1+o.Say.Clip%(len(clips)-1)]
		case o.Leave != nil:
			if c := clients[o.Leave.Id]; c != nil {
				close(c.end)
				c.leave()
				delete(clients, o.Leave.Id)
			}
		case o.Lateness != nil:
			result = lateness()
		}
		_ = answers.Encode(result)
	}
}
