package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/livekit/protocol/livekit"
	"github.com/pion/webrtc/v4"
	"google.golang.org/protobuf/proto"
)

const patience = 15 * time.Second

// The subset of LiveKit's signalling that is needed to publish a microphone.
type participant struct {
	socket      *websocket.Conn
	sending     sync.Mutex
	publisher   *webrtc.PeerConnection
	subscriber  *webrtc.PeerConnection
	track       *webrtc.TrackLocalStaticSample
	connected   chan struct{}
	isConnected sync.Once
	// Candidates received before their session description.
	early map[*webrtc.PeerConnection][]webrtc.ICECandidateInit
}

// hear receives the packets of other speakers; nil disables subscription.
func connect(url, token string, hear func(packet []byte)) (*participant, error) {
	header := http.Header{"Authorization": {"Bearer " + token}}
	subscribe := "0"
	if hear != nil {
		subscribe = "1"
	}
	socket, _, err := websocket.DefaultDialer.Dial(url+"/rtc?protocol=9&sdk=go&auto_subscribe="+subscribe, header)
	if err != nil {
		return nil, err
	}
	track, err := webrtc.NewTrackLocalStaticSample(
		webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}, "microphone", "load")
	if err != nil {
		return nil, err
	}
	p := &participant{
		socket:    socket,
		track:     track,
		connected: make(chan struct{}),
		early:     map[*webrtc.PeerConnection][]webrtc.ICECandidateInit{},
	}
	if p.publisher, err = p.peer(livekit.SignalTarget_PUBLISHER); err != nil {
		return nil, err
	}
	if p.subscriber, err = p.peer(livekit.SignalTarget_SUBSCRIBER); err != nil {
		return nil, err
	}
	if hear != nil {
		p.subscriber.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
			for {
				packet, _, err := track.ReadRTP()
				if err != nil {
					return
				}
				hear(packet.Payload)
			}
		})
	}
	p.publisher.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			p.isConnected.Do(func() { close(p.connected) })
		}
	})
	failed := make(chan error, 1)
	go func() { failed <- p.read() }()
	select {
	case <-p.connected:
		return p, nil
	case err := <-failed:
		return nil, err
	case <-time.After(patience):
		return nil, errors.New("no connection for sound")
	}
}

func (p *participant) peer(target livekit.SignalTarget) (*webrtc.PeerConnection, error) {
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetIPFilter(isLoopback)
	media := &webrtc.MediaEngine{}
	if err := media.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	api := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media))
	peer, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	peer.OnICECandidate(func(candidate *webrtc.ICECandidate) {
		if candidate == nil {
			return
		}
		init, _ := json.Marshal(candidate.ToJSON())
		trickle := &livekit.TrickleRequest{CandidateInit: string(init), Target: target}
		_ = p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Trickle{Trickle: trickle}})
	})
	return peer, nil
}

func (p *participant) send(request *livekit.SignalRequest) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	return p.socket.WriteMessage(websocket.BinaryMessage, data)
}

func (p *participant) read() error {
	for {
		_, data, err := p.socket.ReadMessage()
		if err != nil {
			return err
		}
		response := &livekit.SignalResponse{}
		if err := proto.Unmarshal(data, response); err != nil {
			return err
		}
		if err := p.handle(response); err != nil {
			return err
		}
	}
}

func (p *participant) handle(response *livekit.SignalResponse) error {
	switch message := response.Message.(type) {
	case *livekit.SignalResponse_Join:
		return p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_AddTrack{AddTrack: &livekit.AddTrackRequest{
			Cid: p.track.ID(), Name: "microphone", Type: livekit.TrackType_AUDIO, Source: livekit.TrackSource_MICROPHONE,
		}}})
	case *livekit.SignalResponse_TrackPublished:
		return p.offer()
	case *livekit.SignalResponse_Answer:
		return p.describe(p.publisher, webrtc.SDPTypeAnswer, message.Answer)
	case *livekit.SignalResponse_Offer:
		return p.answer(message.Offer)
	case *livekit.SignalResponse_Trickle:
		return p.candidate(message.Trickle)
	case *livekit.SignalResponse_Leave:
		return errors.New("shown out by the server")
	}
	return nil
}

func (p *participant) offer() error {
	if _, err := p.publisher.AddTrack(p.track); err != nil {
		return err
	}
	offer, err := p.publisher.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := p.publisher.SetLocalDescription(offer); err != nil {
		return err
	}
	description := &livekit.SessionDescription{Type: "offer", Sdp: offer.SDP, Id: 1}
	return p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Offer{Offer: description}})
}

func (p *participant) answer(offer *livekit.SessionDescription) error {
	if err := p.describe(p.subscriber, webrtc.SDPTypeOffer, offer); err != nil {
		return err
	}
	answer, err := p.subscriber.CreateAnswer(nil)
	if err != nil {
		return err
	}
	if err := p.subscriber.SetLocalDescription(answer); err != nil {
		return err
	}
	description := &livekit.SessionDescription{Type: "answer", Sdp: answer.SDP, Id: offer.Id}
	return p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Answer{Answer: description}})
}

func (p *participant) describe(peer *webrtc.PeerConnection, kind webrtc.SDPType, text *livekit.SessionDescription) error {
	if err := peer.SetRemoteDescription(webrtc.SessionDescription{Type: kind, SDP: text.Sdp}); err != nil {
		return err
	}
	for _, candidate := range p.early[peer] {
		if err := peer.AddICECandidate(candidate); err != nil {
			return err
		}
	}
	delete(p.early, peer)
	return nil
}

func (p *participant) candidate(trickle *livekit.TrickleRequest) error {
	peer := p.publisher
	if trickle.Target == livekit.SignalTarget_SUBSCRIBER {
		peer = p.subscriber
	}
	var candidate webrtc.ICECandidateInit
	if err := json.Unmarshal([]byte(trickle.CandidateInit), &candidate); err != nil {
		return err
	}
	if peer.RemoteDescription() == nil {
		p.early[peer] = append(p.early[peer], candidate)
		return nil
	}
	return peer.AddICECandidate(candidate)
}

func (p *participant) leave() {
	leave := &livekit.LeaveRequest{Reason: livekit.DisconnectReason_CLIENT_INITIATED}
	_ = p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Leave{Leave: leave}})
	_ = p.publisher.Close()
	_ = p.subscriber.Close()
	_ = p.socket.Close()
}
