package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// What `media` is asked, a JSON document a line; it answers each with one.
type mediaOrder struct {
	// `sound`: loads what callers say. `open`: places calls. `begin`, `end`: a window that is measured. `close`: hangs up.
	Do string `json:"do"`
	// Of `sound`: raw µ-law at 8000 Hz, whole frames of 20 ms.
	Clips []string `json:"clips"`
	Room  string   `json:"room"`
	// Of `open`: who is called, and how many a second; or ports of bare echoes, which need no signalling.
	Target string  `json:"target"`
	To     string  `json:"to"`
	Calls  int     `json:"calls"`
	Rate   float64 `json:"rate"`
	Ports  []int   `json:"ports"`
	// Callers speak the clips now and then; otherwise each packet has a mark that an echo brings back.
	Talk bool `json:"talk"`
}

type mediaSession struct {
	line  *line
	sound sound
	side  *mediaSide
	// Of all calls that were placed, also those that came to nothing.
	streams []*stream
}

// Many calls of one process, each 50 packets a second both ways on a socket of its own.
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

// What became of the calls that were placed.
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
