/**
 * Connection settings that carriers and PBXes publish, as of 2026-11. Contains only settings with a source; the account
 * holder fills in the rest. The translations under `presets.<id>` say what to copy from the carrier's panel.
 */
import type { TrunkValues } from './values.ts'

export interface Preset {
  id: string
  name: string
  kind: 'world' | 'russia' | 'pbx'
  /** Example of the host name, for carriers that give each account its own. */
  hostLike?: string
  values: Partial<TrunkValues>
}

const lines = (...texts: string[]) => texts.join('\n')

export const presets = [
  {
    // twilio.com/docs/sip-trunking and …/sip-trunking/ip-addresses: termination by credentials or address, no REGISTER.
    id: 'twilio',
    name: 'Twilio',
    kind: 'world',
    hostLike: 'example.pstn.twilio.com',
    values: {
      mode: 'ip',
      codecs: ['PCMU', 'PCMA'],
      allowed_ips: lines(
        '54.172.60.0/30',
        '54.244.51.0/30',
        '54.171.127.192/30',
        '35.156.191.128/30',
        '54.65.63.192/30',
        '54.169.127.128/30',
        '54.252.254.64/30',
        '177.71.206.192/30',
      ),
    },
  },
  {
    // sip.telnyx.com and developers.telnyx.com, "Authentication methods", "IP whitelisting".
    id: 'telnyx',
    name: 'Telnyx',
    kind: 'world',
    values: { mode: 'register', host: 'sip.telnyx.com', allowed_ips: lines('192.76.120.10', '64.16.250.10') },
  },
  {
    // developer.vonage.com/en/sip/technical-details; addresses: Google Cloud's CCAI Platform, "BYOC IP allow list".
    id: 'vonage',
    name: 'Vonage',
    kind: 'world',
    hostLike: 'example.sip-us.vonage.com',
    values: {
      mode: 'ip',
      number_format: 'digits',
      allowed_ips: lines(...[0, 1, 2, 3, 4, 5].flatMap(part => [`216.147.${part}.1`, `216.147.${part}.2`])),
    },
  },
  {
    // docs.plivo.com, "Technical Specifications" of Zentrunk: no REGISTER, PCMA and PCMU, two calls a second.
    id: 'plivo',
    name: 'Plivo',
    kind: 'world',
    hostLike: '21784177241578.zt.plivo.com',
    values: { mode: 'ip', codecs: ['PCMA', 'PCMU'], max_cps: 2 },
  },
  {
    // support.bandwidth.com, "Outbound Calling Integration Guide": addresses come with the account.
    id: 'bandwidth',
    name: 'Bandwidth',
    kind: 'world',
    values: { mode: 'ip', codecs: ['PCMU', 'PCMA'] },
  },
  {
    // developer.signalwire.com, "Create a SIP endpoint": codecs, registration by user name and password.
    id: 'signalwire',
    name: 'SignalWire',
    kind: 'world',
    hostLike: 'example.sip.signalwire.com',
    values: { mode: 'register', codecs: ['PCMU', 'PCMA', 'G722'] },
  },
  {
    // bolna.ai/docs, "Create a SIP trunk" (its example); public configurations use the same server.
    id: 'zadarma',
    name: 'Zadarma',
    kind: 'world',
    values: { mode: 'register', host: 'sip.zadarma.com', codecs: ['PCMA', 'PCMU'] },
  },
  {
    // Domains of the virtual PBX, as in public clients of its API.
    id: 'mango',
    name: 'Mango Office',
    kind: 'russia',
    hostLike: 'vpbx400000000.mangosip.ru',
    values: { mode: 'register', region: 'RU' },
  },
  {
    // The domain that the API returns with a SIP ID, as in public clients. No port is documented.
    id: 'exolve',
    name: 'MTS Exolve',
    kind: 'russia',
    values: { mode: 'register', host: 'sip.exolve.ru', port: '', region: 'RU' },
  },
  {
    // docs.mikopbx.com, "Zadarma (Novofon)"; the server is from public configurations.
    id: 'novofon',
    name: 'Novofon',
    kind: 'russia',
    values: { mode: 'register', host: 'sip.novofon.ru', codecs: ['PCMA', 'PCMU'], region: 'RU' },
  },
  { id: 'sipuni', name: 'Sipuni', kind: 'russia', values: { mode: 'register', region: 'RU' } },
  {
    // docs.mikopbx.com, "Мегафон", and wiki.yola.ru, "МультиФон".
    id: 'megafon',
    name: 'МегаФон (МультиФон Бизнес)',
    kind: 'russia',
    values: {
      mode: 'register',
      host: 'sbc.megafon.ru',
      from_domain: 'multifon.ru',
      number_format: 'digits',
      region: 'RU',
    },
  },
  {
    // docs.mikopbx.com, "Билайн" (the cloud PBX).
    id: 'beeline',
    name: 'Билайн (облачная АТС)',
    kind: 'russia',
    values: { mode: 'register', host: 'ip.beeline.ru', region: 'RU' },
  },
  {
    // docs.mikopbx.com, "Ростелеком": the host is the domain of the account.
    id: 'rostelecom',
    name: 'Ростелеком (виртуальная АТС)',
    kind: 'russia',
    values: { mode: 'register', region: 'RU' },
  },
  {
    // The server is from public clients; the port differs per account.
    id: 'uis',
    name: 'UIS / CoMagic',
    kind: 'russia',
    values: { mode: 'register', host: 'voip.uiscom.ru', port: '', region: 'RU' },
  },
  {
    // docs.mikopbx.com, "Телфин": server, port and source addresses of calls.
    id: 'telphin',
    name: 'Телфин',
    kind: 'russia',
    values: {
      mode: 'register',
      host: 'voice.telphin.com',
      port: 5068,
      allowed_ips: lines('213.170.92.166', '46.229.221.86', '188.43.252.147'),
      region: 'RU',
    },
  },
  { id: 'asterisk', name: 'Asterisk / FreePBX', kind: 'pbx', values: { mode: 'ip', codecs: ['PCMA', 'PCMU', 'G722'] } },
  { id: 'kamailio', name: 'Kamailio / OpenSIPS', kind: 'pbx', values: { mode: 'ip' } },
] as const satisfies Preset[]

export type PresetId = (typeof presets)[number]['id']

export const presetOf = (id: string | null): (Preset & { id: PresetId }) | null =>
  presets.find(preset => preset.id === id) ?? null
