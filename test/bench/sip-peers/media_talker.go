package main

import (
	"errors"
	"math"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"time"
)

const (
	// Sample level above which audio counts as the agent's speech, not silence or comfort noise (full scale 32768).
	voice = 300
	// A longer silence ends an utterance of the agent.
	stretchGap = 120 * time.Millisecond
	// Silence after which the agent has finished.
	quietFor = 300 * time.Millisecond
	// From the agent's first word to the caller's next, and the most that it may be later.
	pauseAtLeast = 2500 * time.Millisecond
	pauseSpread  = 2500 * time.Millisecond
	unheardAfter = 6 * time.Second
)

type sound struct {
	clips [][]byte
	room  []byte
}

func (s *sound) load(clips []string, room string) error {
	s.clips = nil
	for _, file := range clips {
		clip, err := frames(file)
		if err != nil {
			return err
		}
		s.clips = append(s.clips, clip)
	}
	var err error
	s.room, err = frames(room)
	return err
}

func frames(file string) ([]byte, error) {
	bytes, err := os.ReadFile(file)
	if err == nil && (len(bytes) == 0 || len(bytes)%frameSize != 0) {
		err = errors.New("no whole frames in " + file)
	}
	return bytes, err
}

type doing int

const (
	listens doing = iota
	speaks
	awaits
)

// A caller who plays a recording when the agent is silent, waits for the answer, and plays the next one after a while.
type talker struct {
	sound *sound
	doing doing
	// The next recording, the position in it, and in the room noise.
	clip, at, roomAt int
	nextNs           int64
	lastSentNs       int64
	// The current or latest utterance of the agent.
	heardNs     int64
	interrupted bool
}

func newTalker(sound *sound, nth int) *talker {
	room := mathrand.IntN(len(sound.room)/frameSize) * frameSize
	return &talker{sound: sound, clip: nth % len(sound.clips), roomAt: room}
}

// Returns the next frame to send.
func (t *talker) frame(nowNs int64, w *window) []byte {
	switch {
	case t.doing == awaits && nowNs-t.lastSentNs > int64(unheardAfter):
		if w != nil && w.holds(nowNs) {
			w.unheard++
		}
		t.pause(nowNs)
	case t.doing == listens && t.nextNs == 0:
		// Spreads the start of the callers.
		t.nextNs = nowNs + mathrand.Int64N(int64(pauseAtLeast+pauseSpread))
	case t.doing == listens && nowNs > t.nextNs && t.heardNs > 0 && nowNs-t.heardNs > int64(quietFor):
		t.doing, t.at, t.interrupted = speaks, 0, false
	}
	if t.doing != speaks {
		t.roomAt = (t.roomAt + frameSize) % len(t.sound.room)
		return t.sound.room[t.roomAt : t.roomAt+frameSize]
	}
	t.at += frameSize
	return t.sound.clips[t.clip][t.at-frameSize : t.at]
}

func (t *talker) sent(atNs int64) {
	if t.doing == speaks && t.at == len(t.sound.clips[t.clip]) {
		t.doing, t.lastSentNs = awaits, atNs
		t.clip = (t.clip + 1) % len(t.sound.clips)
	}
}

func (t *talker) hear(payload []byte, atNs int64, w *window) {
	if !slices.ContainsFunc(payload, func(b byte) bool { return loud[b] }) {
		return
	}
	begins := atNs-t.heardNs > int64(stretchGap)
	t.heardNs = atNs
	// Audio that was in transit when the last word left is not an answer.
	if t.doing == speaks || (t.doing == awaits && atNs <= t.lastSentNs) {
		t.interrupted = t.interrupted || begins
		return
	}
	if t.doing != awaits {
		return
	}
	if w != nil && w.holds(atNs) {
		if t.interrupted {
			w.interrupted++
		} else {
			w.turnMs = append(w.turnMs, ms(time.Duration(atNs-t.lastSentNs)))
		}
	}
	t.pause(atNs)
}

func (t *talker) pause(nowNs int64) {
	t.doing = listens
	t.nextNs = nowNs + int64(pauseAtLeast) + mathrand.Int64N(int64(pauseSpread))
}

// Indexed by µ-law byte (ITU-T G.711).
var loud = func() (table [256]bool) {
	for i := range table {
		b := ^byte(i)
		level := (int(b&0x0f)<<3+0x84)<<(b>>4&7) - 0x84
		table[i] = level > voice
	}
	return table
}()

func percentile(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}
