package main

import (
	"container/heap"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	frameTime = 20 * time.Millisecond
	// Received packets wait no longer than this; the kernel has recorded their arrival time.
	pollEvery = 2 * time.Millisecond
	// Packets at the end of a window may arrive until then, before they count as lost.
	grace = 300 * time.Millisecond
)

// One thread sends each packet at its own time and reads received ones: one wake-up per sent packet, none for received
// ones.
type line struct {
	start   time.Time
	poll    int
	mutex   sync.Mutex
	streams queue
	bySock  map[int32]*stream
	window  *window
}

// Ordered by due time, not in rotation: a stream that joined while another was late would keep that one late
// permanently.
type queue []*stream

func (q queue) Len() int           { return len(q) }
func (q queue) Less(a, b int) bool { return q[a].due.Before(q[b].due) }
func (q queue) Swap(a, b int)      { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(s any)        { *q = append(*q, s.(*stream)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	*q = (*q)[:last]
	return s
}

func newLine() (*line, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &line{start: time.Now(), poll: poll, bySock: map[int32]*stream{}}, err
}

// Start times of the calls within a frame: one in each `count`th part of it, in random order, so that none are in step.
func spread(count int) []time.Duration {
	phases := make([]time.Duration, count)
	for i, slot := range mathrand.Perm(count) {
		phases[i] = time.Duration((float64(slot) + mathrand.Float64()) / float64(count) * float64(frameTime))
	}
	return phases
}

// From now on the stream sends to that port on loopback, and accepts packets from there.
func (l *line) join(s *stream, port int) error {
	if err := unix.Connect(s.socket, &unix.SockaddrInet4{Port: port, Addr: loopback}); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	passed := time.Since(l.start).Truncate(frameTime)
	s.due = l.start.Add(passed + frameTime + s.phase)
	l.bySock[int32(s.socket)] = s
	heap.Push(&l.streams, s)
	return unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, s.socket, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.socket)})
}

func (l *line) clear() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.streams = nil
	clear(l.bySock)
}

func (l *line) begin() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.window = &window{fromNs: time.Now().UnixNano()}
	for _, s := range l.streams {
		s.arrivedNs = 0
	}
}

func (l *line) end() windowReport {
	l.mutex.Lock()
	l.window.untilNs = time.Now().UnixNano()
	l.mutex.Unlock()
	time.Sleep(grace)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ended := l.window
	l.window = nil
	return ended.report()
}

func (l *line) run() error {
	runtime.LockOSThread()
	// Otherwise the kernel adds up to 50 µs to each sleep, and merges packets that way.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	// It stands for other machines and must be on time whatever this one does; without the permission it continues at
	// normal priority.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -10)
	looked := time.Now()
	for {
		l.mutex.Lock()
		due := l.sendDue(looked.Add(pollEvery))
		if time.Since(looked) >= pollEvery {
			looked = time.Now()
			if err := l.drain(); err != nil {
				return err
			}
		}
		l.mutex.Unlock()
		if wait := time.Until(due); wait > 0 {
			sleep(wait)
		}
	}
}

// Go's own sleep notifies its scheduler each time, which costs more than the sleep; waking early on a signal is
// harmless.
func sleep(wait time.Duration) {
	rest := unix.NsecToTimespec(int64(wait))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&rest)), 0, 0, 0)
}

// Called with the mutex held; returns the time of the next wake-up, at most `latest`.
func (l *line) sendDue(latest time.Time) time.Time {
	for range l.streams {
		s := l.streams[0]
		now := time.Now()
		if s.due.After(now) {
			if s.due.Before(latest) {
				return s.due
			}
			return latest
		}
		s.send(now, l.window)
		s.due = s.due.Add(frameTime)
		heap.Fix(&l.streams, 0)
	}
	return latest
}

// Called with the mutex held.
func (l *line) drain() error {
	var events [128]unix.EpollEvent
	for {
		count, err := unix.EpollWait(l.poll, events[:], 0)
		if err != nil && err != unix.EINTR {
			return err
		}
		for _, event := range events[:max(0, count)] {
			if s := l.bySock[event.Fd]; s != nil {
				for s.receive(l.window) {
				}
			}
		}
		if count < len(events) {
			return nil
		}
	}
}

// The kernel's receive time of a packet, so that the time of reading does not matter.
type inbox struct {
	data    [1500]byte
	control [64]byte
	vector  unix.Iovec
	header  unix.Msghdr
}

// Returns false when nothing is waiting. One buffer per thread: a packet is processed before the next is read.
func (b *inbox) read(socket int) (data []byte, atNs int64, ok bool) {
	b.vector.Base, b.vector.Len = &b.data[0], uint64(len(b.data))
	b.header.Iov, b.header.Iovlen = &b.vector, 1
	b.header.Control, b.header.Controllen = &b.control[0], uint64(len(b.control))
	length, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(socket), uintptr(unsafe.Pointer(&b.header)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return nil, 0, false
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&b.control[0]))
	if b.header.Controllen < unix.SizeofCmsghdr || head.Type != unix.SO_TIMESTAMPNS {
		return b.data[:length], time.Now().UnixNano(), true
	}
	stamp := (*unix.Timespec)(unsafe.Pointer(&b.control[unix.CmsgLen(0)]))
	return b.data[:length], stamp.Nano(), true
}
