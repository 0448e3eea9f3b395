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
	// What came in waits for no longer; when it came, the kernel has written down.
	pollEvery = 2 * time.Millisecond
	// Packets of a window's end are waited for, before they count as lost.
	grace = 300 * time.Millisecond
)

// One thread sends each packet at its own time and looks at what came in: a wake-up for each that leaves, none for those
// that come.
type line struct {
	start   time.Time
	poll    int
	mutex   sync.Mutex
	streams queue
	bySock  map[int32]*stream
	window  *window
}

// Who is due next comes first. Not taken in turns: one that joined while another was late would keep that one late for good.
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

// Times of so many calls within a frame: one in each `count`th part of it, in random order, so that none are in step.
func spread(count int) []time.Duration {
	phases := make([]time.Duration, count)
	for i, slot := range mathrand.Perm(count) {
		phases[i] = time.Duration((float64(slot) + mathrand.Float64()) / float64(count) * float64(frameTime))
	}
	return phases
}

// From now on the stream sends to that port of loopback, and hears what comes from there.
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
	// Otherwise the kernel adds up to 50 µs to each sleep, and joins packets that way.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	// It stands for other machines, and is to be on time whatever this one does; where that is not allowed, it goes without.
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

// Go's own way tells its scheduler each time, which costs more than the sleep; that a signal wakes it early does no harm.
func sleep(wait time.Duration) {
	rest := unix.NsecToTimespec(int64(wait))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&rest)), 0, 0, 0)
}

// Under the mutex; when to come back, at the latest `latest`.
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

// Under the mutex.
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

// The kernel's own time of a packet, so that it does not matter when it is read.
type inbox struct {
	data    [1500]byte
	control [64]byte
	vector  unix.Iovec
	header  unix.Msghdr
}

// False: there is nothing. One for the thread of the line: what is read is used before the next.
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
