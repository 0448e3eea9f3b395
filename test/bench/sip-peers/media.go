package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// The commands of `media`, one JSON document per line; each gets one answer.
type mediaOrder struct {
	// `sound`: loads the callers' audio. `open`: places calls. `begin`, `end`: delimit a measurement. `close`: hangs up.
	Do string `json:"do"`
	// For `sound`: raw µ-law at 8000 Hz, whole frames of 20 ms.
	Clips []string `json:"clips"`
	Room  string   `json:"room"`
	// For `open`: the called address and the calls per second; or ports of bare echoes, which need no signalling.
	Target string  `json:"target"`
	To     string  `json:"to"`
	Calls  int     `json:"calls"`
	Rate   float64 `json:"rate"`
	Ports  []int   `json:"ports"`
	// Callers speak the clips now and then; otherwise each packet carries a mark that an echo returns.
	Talk bool `json:"talk"`
}

type mediaSession struct {
	line  *line
	sound sound
	side  *mediaSide
	// Over all calls that were placed, including failed ones.
	streams []*stream
}

// Many calls of one process, each with 50 packets per second in both directions on its own socket.
func mediaLoad() error {
	line, err := newLine()
	if err != nil {
		return err
	}
	session := &mediaSession{line: line}
	started := make(chan error, 1)
	go func() { started <- session.line.run() }()
	orders := bufio.NewScanner(os.Stdin)
	orders.Buffer(nil, 1<<20)
	for orders.Scan() {
		select {
		case err := <-started:
			return err
		default:
		}
		var order mediaOrder
		var answer any
		err := json.Unmarshal(orders.Bytes(), &order)
		if err == nil {
			answer, err = session.take(order)
		}
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			return err
		}
	}
	return orders.Err()
}

func (s *mediaSession) take(order mediaOrder) (any, error) {
	switch order.Do {
	case "sound":
		return struct{}{}, s.sound.load(order.Clips, order.Room)
	case "open":
		return s.open(order)
	case "begin":
		s.line.begin()
		return struct{}{}, nil
	case "end":
		return s.line.end(), nil
	case "close":
		if s.side != nil {
			s.side.hangUp()
		}
		s.side = nil
		s.line.clear()
		for _, stream := range s.streams {
			stream.close()
		}
		s.streams = nil
		return struct{}{}, nil
	}
	return nil, fmt.Errorf("unknown order %q", order.Do)
}

// The results of the placed calls.
type opened struct {
	Open   int            `json:"open"`
	Failed map[string]int `json:"failed"`
}

func (s *mediaSession) open(order mediaOrder) (opened, error) {
	calls := max(order.Calls, len(order.Ports))
	for i, phase := range spread(calls) {
		stream, err := s.stream(phase, i, order.Talk)
		if err != nil {
			return opened{}, err
		}
		s.streams = append(s.streams, stream)
	}
	if order.Target == "" {
		for i, port := range order.Ports {
			if err := s.line.join(s.streams[i], port); err != nil {
				return opened{}, err
			}
		}
		return opened{Open: calls, Failed: map[string]int{}}, nil
	}
	side, err := newMediaSide(order, s.line, s.streams)
	if err != nil {
		return opened{}, err
	}
	s.side = side
	return side.place(order.Rate), nil
}

func (s *mediaSession) stream(phase time.Duration, nth int, talks bool) (*stream, error) {
	if !talks {
		return newStream(phase, nil)
	}
	if len(s.sound.clips) == 0 {
		return nil, errors.New("nothing is there to be said")
	}
	return newStream(phase, newTalker(&s.sound, nth))
}
